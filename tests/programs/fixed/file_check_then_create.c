// Whoever makes the lock file has it.
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

static int made;

static void *make(void *unused) {
    int fd = open("check_then_create", O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd >= 0) {
        close(fd);
        __atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

int main(void) {
    enter();
    unlink("check_then_create");
    pthread_t a, b;
    pthread_create(&a, NULL, make, NULL);
    pthread_create(&b, NULL, make, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unlink("check_then_create");
    assert(made == 1);
    return 0;
}
