// Locks of flock belong to openings: threads that use one descriptor do not keep each other out.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
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
    flock(file, LOCK_EX);
    change(1);
    change(-1);
    flock(file, LOCK_UN);
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
