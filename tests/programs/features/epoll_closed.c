// Descriptors are closed that a poll set has an interest in: copies of them before, and the set before some of them.
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int event, ends[2];

static void *writer(void *argument) {
    if (write(ends[1], "x", 1) != 1 || eventfd_write(event, 1)) abort();
    return argument;
}

int main(void) {
    if (pipe(ends)) return 2;
    event = eventfd(0, 0);
    int set = epoll_create1(0), copy = dup(ends[0]);
    struct epoll_event interest = {.events = EPOLLIN}, got;
    if (epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &interest) || epoll_ctl(set, EPOLL_CTL_ADD, event, &interest)) return 3;
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    if (epoll_wait(set, &got, 1, -1) != 1) abort();
    pthread_join(thread, 0);
    close(copy);
    close(ends[0]);
    if (epoll_wait(set, &got, 1, 0) != 1) abort();
    close(set);
    copy = dup(event);
    close(event);
    close(copy);
    return 0;
}
