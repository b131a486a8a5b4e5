// Each descriptor is closed once.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *closer(void *unused) {
    close(ends[0]);
    close(ends[1]);
    return NULL;
}

static void *opener(void *unused) {
    pthread_mutex_lock(&mutex);
    int fd = open("/dev/null", O_WRONLY);
    pthread_mutex_unlock(&mutex);
    assert(write(fd, "x", 1) == 1);
    close(fd);
    return NULL;
}

int main(void) {
    if (pipe(ends))
        return 3;
    pthread_t a, b;
    pthread_create(&a, NULL, closer, NULL);
    pthread_create(&b, NULL, opener, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
