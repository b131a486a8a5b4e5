// A thread is made before what it uses is initialised. Who comes first uses an object that is not there, or loses what it did with it.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static sem_t semaphore;
static pthread_mutex_t mutex;
static pthread_cond_t changed;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock;
static pthread_spinlock_t *spin;
static int inside, ready;

static void enter(void) {
    if (inside++) abort();
    pthread_mutex_lock(&guard);
    pthread_mutex_unlock(&guard);
    inside--;
}

static void *post(void *unused) {
    sem_post(&semaphore);
    return unused;
}

static void *take(void *unused) {
    sem_wait(&semaphore);
    return unused;
}

static void *lock(void *unused) {
    pthread_mutex_lock(&mutex);
    enter();
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *await(void *unused) {
    pthread_mutex_lock(&guard);
    while (!ready) pthread_cond_wait(&changed, &guard);
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *meet(void *barrier) {
    pthread_barrier_wait(barrier);
    return 0;
}

static void *write_lock(void *unused) {
    pthread_rwlock_wrlock(&rwlock);
    enter();
    pthread_rwlock_unlock(&rwlock);
    return unused;
}

static void *spin_lock(void *unused) {
    pthread_spin_lock(spin);
    pthread_spin_unlock(spin);
    return unused;
}

int main(int count, char **words) {
    const char *which = count > 1 ? words[1] : "semaphore";
    pthread_t thread;
    if (!strcmp(which, "semaphore") || !strcmp(which, "again")) {
        // What was posted before is lost.
        if (!strcmp(which, "again")) sem_init(&semaphore, 0, 0);
        pthread_create(&thread, 0, post, 0);
        sem_init(&semaphore, 0, 0);
        sem_wait(&semaphore);
    } else if (!strcmp(which, "waiter")) {
        // Who waits is forgotten, and not woken.
        pthread_create(&thread, 0, take, 0);
        sem_init(&semaphore, 0, 0);
        sem_post(&semaphore);
    } else if (!strcmp(which, "mutex")) {
        // Two threads hold it.
        pthread_create(&thread, 0, lock, 0);
        pthread_mutex_init(&mutex, 0);
        lock(0);
    } else if (!strcmp(which, "condition")) {
        // Who waits is forgotten.
        pthread_create(&thread, 0, await, 0);
        pthread_cond_init(&changed, 0);
        pthread_mutex_lock(&guard);
        ready = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&guard);
    } else if (!strcmp(which, "barrier")) {
        // On the stack, where anything can be before.
        pthread_barrier_t barrier;
        memset(&barrier, 0, sizeof barrier);
        pthread_create(&thread, 0, meet, &barrier);
        pthread_barrier_init(&barrier, 0, 2);
        pthread_barrier_wait(&barrier);
        pthread_join(thread, 0);
        return 0;
    } else if (!strcmp(which, "rwlock")) {
        pthread_create(&thread, 0, write_lock, 0);
        pthread_rwlock_init(&rwlock, 0);
        write_lock(0);
    } else {
        // In the heap; memory that is zero is a lock that nobody gives back.
        spin = calloc(1, 64);
        pthread_create(&thread, 0, spin_lock, 0);
        pthread_spin_init(spin, 0);
        spin_lock(0);
    }
    pthread_join(thread, 0);
    return 0;
}
