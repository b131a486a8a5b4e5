// Main ends by pthread_exit; the program lives on, and ends with status 0 with its last thread.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_t main_thread;

static void *outlive(void *unused) {
    (void)unused;
    void *result;
    assert(pthread_join(main_thread, &result) == 0);
    assert(result == &main_thread);
    return NULL;
}

int main(void) {
    pthread_t thread;
    main_thread = pthread_self();
    pthread_create(&thread, NULL, outlive, NULL);
    pthread_exit(&main_thread);
}
