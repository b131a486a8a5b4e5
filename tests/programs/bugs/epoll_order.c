// The events of a poll set come in the order in which descriptors became ready.
#include <assert.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int events[2];

static void *first(void *unused) {
    eventfd_write(events[0], 1);
    return NULL;
}

static void *second(void *unused) {
    eventfd_write(events[1], 1);
    return NULL;
}

int main(void) {
    int set = epoll_create1(0);
    for (int i = 0; i < 2; i++) {
        events[i] = eventfd(0, 0);
        struct epoll_event interest = {.events = EPOLLIN, .data.fd = events[i]};
        epoll_ctl(set, EPOLL_CTL_ADD, events[i], &interest);
    }
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    struct epoll_event ready[2];
    int count = epoll_wait(set, ready, 2, -1);
    assert(count == 2);
    assert(ready[0].data.fd == events[0]);
    return 0;
}
