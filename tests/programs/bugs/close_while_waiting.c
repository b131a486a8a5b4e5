// A descriptor is closed to wake the thread that waits on it; but that thread has the open file, and waits on.

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *how;
static int fd;

static void *wait_on(void *argument) {
    char byte;
    (void)argument;
    if (strcmp(how, "read") == 0 || strcmp(how, "event") == 0) {
        uint64_t value;
        (void)!read(fd, &value, sizeof value);
    } else if (strcmp(how, "recv") == 0) {
        recv(fd, &byte, 1, 0);
    } else if (strcmp(how, "poll") == 0) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        poll(&one, 1, -1);
    } else if (strcmp(how, "select") == 0) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(fd, &set);
        select(fd + 1, &set, NULL, NULL, NULL);
    } else if (strcmp(how, "epoll") == 0) {
        struct epoll_event event;
        epoll_wait(fd, &event, 1, -1);
    } else {
        accept(fd, NULL, NULL);
    }
    return NULL;
}

int main(int count, char **arguments) {
    int ends[2];
    pthread_t waiter;
    assert(count == 2);
    how = arguments[1];
    if (strcmp(how, "event") == 0) {
        fd = eventfd(0, 0);
    } else if (strcmp(how, "epoll") == 0) {
        fd = epoll_create1(0);
        struct epoll_event event = {.events = EPOLLIN};
        pipe(ends);
        epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event);
    } else if (strcmp(how, "accept") == 0) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        // Any name that is free.
        assert(bind(fd, (struct sockaddr *)&address, sizeof address.sun_family) == 0);
        assert(listen(fd, 1) == 0);
    } else if (strcmp(how, "recv") == 0) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        fd = ends[0];
    } else {
        (void)!pipe(ends);
        fd = ends[0];
    }
    pthread_create(&waiter, NULL, wait_on, NULL);
    close(fd);
    pthread_join(waiter, NULL);
    return 0;
}
