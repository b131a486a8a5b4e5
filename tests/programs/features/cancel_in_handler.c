// A thread that is cancelled while it handles a signal unwinds through what the handler has interrupted: its own clean-up runs, wherever
// the signal came.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int begun, cleaned;

static void on_signal(int signal) {
    (void)signal;
    pthread_testcancel();
}

static void clean(void *unused) {
    (void)unused;
    cleaned = 1;
}

static void *work(void *unused) {
    begun = 1;
    pthread_cleanup_push(clean, 0);
    if (write(1, "", 0) != 0) return 0;
    pthread_cleanup_pop(1);
    return unused;
}

int main(void) {
    pthread_t thread;
    void *result;
    signal(SIGUSR1, on_signal);
    pthread_create(&thread, 0, work, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_cancel(thread);
    assert(pthread_join(thread, &result) == 0);
    assert(result == 0 || result == PTHREAD_CANCELED);
    // It may end before it has begun.
    assert(cleaned == begun);
    return 0;
}
