// A byte in a socket pair is a token that one thread can hold; two threads take two tokens in opposite orders.
// Deadlocks if each has received its first token before anyone receives its second.

#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static int disk[2], network[2];

static int take(int token[2]) {
    char byte;
    return recv(token[0], &byte, 1, 0) == 1;
}

static int give(int token[2]) {
    return send(token[1], "t", 1, 0) == 1;
}

static void *upload(void *ok) {
    *(int *)ok = take(disk) && take(network) && give(network) && give(disk);
    return NULL;
}

static void *download(void *ok) {
    *(int *)ok = take(network) && take(disk) && give(disk) && give(network);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    int ok[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, disk) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, network) != 0) {
        return 2;
    }
    if (!give(disk) || !give(network)) {
        return 2;
    }
    pthread_create(&a, NULL, upload, &ok[0]);
    pthread_create(&b, NULL, download, &ok[1]);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    close(disk[0]);
    close(disk[1]);
    close(network[0]);
    close(network[1]);
    return !ok[0] || !ok[1];
}
