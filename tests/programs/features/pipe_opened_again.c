// An end of a pipe is opened again through /proc, which does not wait for the other end.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];

static void *again(void *unused) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    int fd = open(path, O_WRONLY);
    assert(fd >= 0 && write(fd, "x", 1) == 1);
    close(fd);
    return NULL;
}

int main(void) {
    char byte;
    pipe(ends);
    pthread_t writer;
    pthread_create(&writer, NULL, again, NULL);
    assert(read(ends[0], &byte, 1) == 1);
    pthread_join(writer, NULL);
    return 0;
}
