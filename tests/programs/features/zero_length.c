// Reading and writing nothing never waits, whatever the other end does.

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int ends[2], sockets[2];

static void *work(void *arg) {
    (void)arg;
    char room[8];
    struct iovec nothing = {room, 0};
    if (read(ends[0], room, 0) != 0 || readv(ends[0], &nothing, 1) != 0 || write(ends[1], room, 0) != 0) return "pipe";
    if (read(sockets[0], room, 0) != 0 || write(sockets[0], room, 0) != 0) return "socket";
    return NULL;
}

int main(void) {
    pthread_t worker;
    void *wrong;
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) return 2;
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, &wrong);
    return wrong != NULL;
}
