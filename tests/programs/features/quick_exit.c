// Handlers for a quick end run, the last one first, also those of constructors; those for an ordinary end do not.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *text) {
    if (write(1, text, 1) != 1) _exit(1);
}

static void first(void) { say("1"); }
static void second(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    say("2");
}
static void never(void) { _exit(3); }

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void earliest(void) { say("0"); }
__attribute__((constructor)) static void begin(void) { at_quick_exit(earliest); }

int main(void) {
    pthread_t thread;
    atexit(never);
    at_quick_exit(first);
    at_quick_exit(second);
    pthread_create(&thread, NULL, work, NULL);
    quick_exit(0);
}
