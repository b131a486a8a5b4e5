// Two threads announce one event each through an eventfd, and main reads twice; a read takes all that was announced.
// Deadlocks if both have announced before main reads.

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int events;

static void *announce(void *unused) {
    (void)unused;
    uint64_t one = 1;
    return write(events, &one, sizeof one) == sizeof one ? NULL : &events;
}

static int await_event(void) {
    uint64_t count;
    return read(events, &count, sizeof count) == sizeof count;
}

int main(void) {
    pthread_t a, b;
    events = eventfd(0, 0);
    pthread_create(&a, NULL, announce, NULL);
    pthread_create(&b, NULL, announce, NULL);
    int first = await_event();
    int second = await_event();
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    close(events);
    return !first || !second;
}
