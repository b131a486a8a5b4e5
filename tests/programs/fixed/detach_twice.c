// The note that the worker is detached is made in the critical section that looks for it.

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t main_is_done;
static int detached;

static void detach(pthread_t thread) {
    pthread_mutex_lock(&lock);
    int mine = !detached;
    detached = 1;
    pthread_mutex_unlock(&lock);
    if (mine) {
        pthread_detach(thread);
    }
}

static void *work(void *unused) {
    (void)unused;
    detach(pthread_self());
    // The identity of a detached thread is only good while the thread lives.
    sem_wait(&main_is_done);
    return NULL;
}

int main(void) {
    pthread_t worker;
    sem_init(&main_is_done, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    detach(worker);
    sem_post(&main_is_done);
    // The program ends with its last thread, and with status 0.
    pthread_exit(NULL);
}
