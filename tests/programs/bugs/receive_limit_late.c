// A socket is told how long to wait when another thread may wait on it already: that one waits for ever.
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>

static int ends[2];

static void *receive(void *unused) {
    char byte;
    recv(ends[0], &byte, 1, 0);
    return unused;
}

static void limit(void) {
    struct timeval time = {.tv_usec = 1000};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

int main(void) {
    pthread_t other;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pthread_create(&other, 0, receive, 0);
    limit();
    pthread_join(other, 0);
    return 0;
}
