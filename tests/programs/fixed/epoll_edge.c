// An edge is told to one of two threads that ask, whichever comes first.
#include <assert.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int set;
static int got[2];

static void *waiter(void *which) {
    struct epoll_event event;
    got[(long)which] = epoll_wait(set, &event, 1, 0);
    return NULL;
}

int main(void) {
    int fd = eventfd(1, EFD_NONBLOCK);
    set = epoll_create1(0);
    struct epoll_event interest = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    epoll_ctl(set, EPOLL_CTL_ADD, fd, &interest);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, waiter, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(got[0] + got[1] == 1);
    return 0;
}
