// A file system is asked for by a path that another thread takes away.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}

static void *take(void *unused) {
    unlink("asked");
    return unused;
}

int main(void) {
    enter();
    close(open("asked", O_CREAT | O_WRONLY, 0600));
    pthread_t thread;
    pthread_create(&thread, NULL, take, NULL);
    struct statvfs system;
    int found = statvfs("asked", &system);
    pthread_join(thread, NULL);
    assert(found == 0);
    return 0;
}
