// A reader waits for another one that nobody keeps out: the lock prefers readers.

#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>

static pthread_rwlock_t lock;
static sem_t read_too;

static void *write_it(void *arg) {
    (void)arg;
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
    return NULL;
}

static void *read_it(void *arg) {
    (void)arg;
    pthread_rwlock_rdlock(&lock);
    sem_post(&read_too);
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t writer, reader;
    pthread_rwlockattr_t kind;
    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_READER_NP);
    pthread_rwlock_init(&lock, &kind);
    sem_init(&read_too, 0, 0);
    pthread_create(&writer, NULL, write_it, NULL);
    pthread_create(&reader, NULL, read_it, NULL);
    pthread_rwlock_rdlock(&lock);
    sem_wait(&read_too);
    pthread_rwlock_unlock(&lock);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
