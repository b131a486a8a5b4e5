// Destructors of thread-specific data run at the end of each thread, and again if they set a value.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

static pthread_key_t once_key, again_key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int once_runs, again_runs;

static void destroy_once(void *value) {
    pthread_mutex_lock(&lock);
    once_runs += (int)(intptr_t)value;
    pthread_mutex_unlock(&lock);
}

static void destroy_again(void *value) {
    pthread_mutex_lock(&lock);
    again_runs++;
    pthread_mutex_unlock(&lock);
    if (value == &again_runs) {
        pthread_setspecific(again_key, &once_runs);
    }
}

static void *work(void *value) {
    assert(pthread_getspecific(once_key) == NULL);
    pthread_setspecific(once_key, value);
    pthread_setspecific(again_key, &again_runs);
    assert(pthread_getspecific(once_key) == value);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_key_create(&once_key, destroy_once);
    pthread_key_create(&again_key, destroy_again);
    pthread_create(&a, NULL, work, (void *)(intptr_t)1);
    pthread_create(&b, NULL, work, (void *)(intptr_t)2);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(once_runs == 3);
    assert(again_runs == 4);
    assert(pthread_getspecific(once_key) == NULL);
    pthread_key_delete(once_key);
    pthread_key_delete(again_key);
    return 0;
}
