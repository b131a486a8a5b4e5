// A file is opened that another thread may not have put in place yet.
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

static void *publish(void *unused) {
    int fd = open("new", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (write(fd, "x", 1) != 1)
        abort();
    close(fd);
    rename("new", "current");
    return NULL;
}

static void *use(void *unused) {
    int fd = open("current", O_RDONLY);
    assert(fd >= 0);
    close(fd);
    return NULL;
}

int main(void) {
    enter();
    unlink("current");
    pthread_t a, b;
    pthread_create(&a, NULL, publish, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unlink("current");
    return 0;
}
