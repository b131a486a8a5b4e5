// One thread loads a library while main looks a symbol up: both take the loader's lock, which is not visible.

#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *load(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    assert(dlopen("libm.so.6", RTLD_NOW) != NULL);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, load, NULL);
    pthread_mutex_lock(&lock);
    assert(dlsym(RTLD_DEFAULT, "main_is_not_exported") == NULL);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
