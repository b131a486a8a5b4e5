// Threads take other locks depending on random numbers of every kind: in every execution each thread takes the same branches,
// whatever the other one does meanwhile.

#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static char branches[3][8];

static unsigned from_device(void) {
    unsigned char byte;
    int fd = open("/dev/urandom", O_RDONLY);
    assert(fd >= 0 && read(fd, &byte, 1) == 1);
    close(fd);
    return byte;
}

static unsigned from_kernel(void) {
    unsigned char byte;
    assert(getrandom(&byte, 1, 0) == 1);
    return byte;
}

static void take(char *branch, unsigned number) {
    int which = (number >> 3) & 1;
    pthread_mutex_lock(&locks[which]);
    *branch = which ? 'b' : 'a';
    pthread_mutex_unlock(&locks[which]);
}

static void *work(void *argument) {
    char *mine = argument;
    take(&mine[0], (unsigned)random());
    take(&mine[1], from_kernel());
    take(&mine[2], from_device());
    take(&mine[3], (unsigned)rand());
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    srandom(42);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, branches[i]);
    take(&branches[2][0], (unsigned)random());
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%s %s %s\n", branches[0], branches[1], branches[2]);
    return 0;
}
