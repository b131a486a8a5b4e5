// The thread uses a pointer that main sets after it has created the thread.
// Crashes if the thread locks first.

#include <pthread.h>
#include <stddef.h>

struct config {
    int size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config defaults = {.size = 8};
static struct config *volatile config;
static int size;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    size = config->size;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void set_config(void) {
    pthread_mutex_lock(&lock);
    config = &defaults;
    pthread_mutex_unlock(&lock);
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    set_config();
    pthread_join(worker, NULL);
    return size != 8;
}
