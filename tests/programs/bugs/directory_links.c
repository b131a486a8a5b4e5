// How many links a directory has is asked before there is a directory in it.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}

static void *add(void *unused) {
    mkdir("linked/inner", 0700);
    return unused;
}

int main(void) {
    enter();
    rmdir("linked/inner");
    rmdir("linked");
    mkdir("linked", 0700);
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    struct stat status;
    stat("linked", &status);
    pthread_join(thread, NULL);
    rmdir("linked/inner");
    rmdir("linked");
    assert(status.st_nlink == 3);
    return 0;
}
