// A directory is listed before all files are in it.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}
#include <dirent.h>
#include <sys/stat.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *add(void *name) {
    pthread_mutex_lock(&mutex);
    close(open(name, O_CREAT | O_WRONLY, 0600));
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static int entries(void) {
    int count = 0;
    DIR *directory = opendir("listed");
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

int main(void) {
    enter();
    unlink("listed/one");
    unlink("listed/two");
    mkdir("listed", 0700);
    pthread_t a, b;
    pthread_create(&a, NULL, add, "listed/one");
    pthread_create(&b, NULL, add, "listed/two");
    pthread_join(a, NULL);
    int count = entries();
    pthread_join(b, NULL);
    unlink("listed/one");
    unlink("listed/two");
    rmdir("listed");
    assert(count == 2);
    return 0;
}
