// A lock of flock goes with the last copy of its descriptor, whoever closes that.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int copy;

static void *close_copy(void *unused) {
    close(copy);
    return unused;
}

static void *wait_for_lock(void *unused) {
    int fd = open("lock-copies", O_RDWR);
    assert(flock(fd, LOCK_EX) == 0);
    close(fd);
    return unused;
}

int main(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp")) return 3;
    int fd = open("lock-copies", O_CREAT | O_RDWR, 0600);
    copy = dup(fd);
    pthread_t closer, waiter;
    pthread_create(&closer, NULL, close_copy, NULL);
    pthread_create(&waiter, NULL, wait_for_lock, NULL);
    flock(fd, LOCK_EX);
    close(fd);
    pthread_join(closer, NULL);
    pthread_join(waiter, NULL);
    unlink("lock-copies");
    return 0;
}
