// A thread stops the process, and nobody lets it go on.
#include <pthread.h>
#include <signal.h>

static void *stop(void *unused) {
    raise(SIGSTOP);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, stop, 0);
    pthread_join(thread, 0);
    return 0;
}
