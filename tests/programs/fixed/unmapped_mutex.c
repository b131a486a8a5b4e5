// Main unmaps the page of the mutex after it has joined the worker.

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/mman.h>

struct shared {
    pthread_mutex_t lock;
    int results;
};

static sem_t done;
static int result;

static void *work(void *arg) {
    struct shared *shared = arg;
    result = 42;
    sem_post(&done);
    pthread_mutex_lock(&shared->lock);
    shared->results++;
    pthread_mutex_unlock(&shared->lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return 1;
    }
    pthread_mutex_init(&shared->lock, NULL);
    sem_init(&done, 0, 0);
    pthread_create(&worker, NULL, work, shared);
    sem_wait(&done);
    pthread_join(worker, NULL);
    munmap(shared, sizeof *shared);
    return result != 42;
}
