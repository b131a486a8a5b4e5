// A thread activates an event of another thread's loop.
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>

static struct event_base *base;
static struct event *event;
static int seen;

static void on_event(evutil_socket_t fd, short what, void *unused) {
    (void)fd, (void)what, (void)unused;
    seen++;
    event_base_loopbreak(base);
}

static void *activate(void *unused) {
    event_active(event, EV_READ, 0);
    return unused;
}

int main(void) {
    evthread_use_pthreads();
    base = event_base_new();
    event = event_new(base, -1, EV_PERSIST, on_event, 0);
    struct timeval long_time = {1000, 0};
    event_add(event, &long_time);
    pthread_t thread;
    pthread_create(&thread, 0, activate, 0);
    event_base_dispatch(base);
    pthread_join(thread, 0);
    event_free(event);
    event_base_free(base);
    return seen == 0;
}
