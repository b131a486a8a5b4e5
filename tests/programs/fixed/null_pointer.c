// Main sets the pointer before it creates the thread.

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
    set_config();
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, NULL);
    return size != 8;
}
