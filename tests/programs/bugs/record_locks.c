// Locks on parts of two files are taken in opposite orders.
#define _GNU_SOURCE
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

static void lock(int fd, int type) {
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    fcntl(fd, F_OFD_SETLKW, &range);
}

static void both(const char *one, const char *other) {
    int a = open(one, O_RDWR), b = open(other, O_RDWR);
    lock(a, F_WRLCK);
    lock(b, F_WRLCK);
    lock(b, F_UNLCK);
    close(b);
    close(a);
}

static void *first(void *unused) {
    both("left", "right");
    return NULL;
}

static void *second(void *unused) {
    both("right", "left");
    return NULL;
}

int main(void) {
    enter();
    close(open("left", O_CREAT | O_WRONLY, 0600));
    close(open("right", O_CREAT | O_WRONLY, 0600));
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unlink("left");
    unlink("right");
    return 0;
}
