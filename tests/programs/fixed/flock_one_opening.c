// Each thread opens the file for itself, so that locks of flock keep the other one out.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int file, inside;

static void change(int by) {
    pthread_mutex_lock(&mutex);
    inside += by;
    assert(inside <= 1);
    pthread_mutex_unlock(&mutex);
}

static void *work(void *unused) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int own = open(path, O_RDWR);
    flock(own, LOCK_EX);
    change(1);
    change(-1);
    flock(own, LOCK_UN);
    close(own);
    return unused;
}

int main(void) {
    pthread_t other;
    file = memfd_create("table", 0);
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
    pthread_join(other, NULL);
    return 0;
}
