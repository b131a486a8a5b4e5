// What a thread does depends on an atomic flag, which no visible call orders: nothing misbehaves, but a search that goes by visible calls
// does not come to all classes.

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t first, second;
static atomic_int flag;

static void *work(void *unused) {
    sem_post(&first);
    if (flag) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t worker;
    sem_init(&first, 0, 0);
    sem_init(&second, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    sem_post(&second);
    flag = 1;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
