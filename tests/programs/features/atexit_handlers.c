// Handlers of atexit run in reverse order when a thread calls exit, and may take locks.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ran;

static void last(void) {
    pthread_mutex_lock(&lock);
    assert(ran == 1);
    ran++;
    pthread_mutex_unlock(&lock);
    // Without it the program ends with the status that exit was given.
    _exit(0);
}

static void first(void) {
    pthread_mutex_lock(&lock);
    assert(ran == 0);
    ran++;
    pthread_mutex_unlock(&lock);
}

static void *end_program(void *unused) {
    (void)unused;
    exit(3);
}

int main(void) {
    pthread_t thread;
    atexit(last);
    atexit(first);
    pthread_create(&thread, NULL, end_program, NULL);
    pthread_join(thread, NULL);
    // The thread does not come back from exit.
    abort();
}
