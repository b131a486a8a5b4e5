// The callback is called after the mutex was released.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*listener)(void);
static int events, heard;

static void hear(void) {
    pthread_mutex_lock(&lock);
    heard++;
    pthread_mutex_unlock(&lock);
}

static void *event(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    events++;
    void (*callback)(void) = listener;
    pthread_mutex_unlock(&lock);
    if (callback != NULL) {
        callback();
    }
    return NULL;
}

static void *enlist(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    listener = hear;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, event, NULL);
    pthread_create(&b, NULL, enlist, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
