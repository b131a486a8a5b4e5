// An end of a pipe is sent in a message and closed before it is received; the pipe ends when the receiver closes it.
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int sockets[2], ends[2];

static void *pass(void *unused) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {{CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec piece = {"m", 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &ends[1], sizeof(int));
    assert(sendmsg(sockets[0], &message, 0) == 1);
    close(ends[1]);
    return NULL;
}

int main(void) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    int fd;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    pipe(ends);
    pthread_t sender;
    pthread_create(&sender, NULL, pass, NULL);
    assert(recvmsg(sockets[1], &message, 0) == 1);
    memcpy(&fd, CMSG_DATA(&control.header), sizeof(int));
    assert(write(fd, "x", 1) == 1);
    close(fd);
    assert(read(ends[0], &byte, 1) == 1);
    assert(read(ends[0], &byte, 1) == 0);
    pthread_join(sender, NULL);
    return 0;
}
