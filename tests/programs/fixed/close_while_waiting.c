// A thread that waits on a socket is woken by ending the connection; the descriptor is closed when the thread has gone.

#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void *wait_on(void *argument) {
    char byte;
    (void)argument;
    recv(ends[0], &byte, 1, 0);
    return NULL;
}

int main(void) {
    pthread_t waiter;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pthread_create(&waiter, NULL, wait_on, NULL);
    shutdown(ends[0], SHUT_RDWR);
    pthread_join(waiter, NULL);
    close(ends[0]);
    return 0;
}
