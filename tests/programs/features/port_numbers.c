// A server and a client, by TCP and by UDP, with ports that the kernel chooses: what the program sees of them is the same in every
// execution, and leads back to the same sockets.

#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// What the kernel gives begins here, unless it was told otherwise.
enum { EPHEMERAL = 32768 };

static int listener, receiver;
static struct sockaddr_in server, mailbox;
static int client_port, accepted_port, sender_port, received_port, accepted_fd;

static struct sockaddr_in loopback(void) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static struct sockaddr_in name_of(int fd) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    assert(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
    return address;
}

static int bound(int kind) {
    struct sockaddr_in address = loopback();
    int fd = socket(AF_INET, kind, 0);
    assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static void *serve(void *unused) {
    struct sockaddr_in from, again;
    socklen_t length = sizeof from;
    char text[8];
    (void)unused;
    int fd = accepted_fd = accept(listener, (struct sockaddr *)&from, &length);
    assert(fd >= 0);
    accepted_port = ntohs(from.sin_port);
    length = sizeof again;
    assert(getpeername(fd, (struct sockaddr *)&again, &length) == 0 && again.sin_port == from.sin_port);
    assert(name_of(fd).sin_port == server.sin_port);
    assert(read(fd, text, 1) == 1);
    close(fd);

    length = sizeof from;
    assert(recvfrom(receiver, text, sizeof text, 0, (struct sockaddr *)&from, &length) == 1);
    received_port = ntohs(from.sin_port);
    // The answer finds its way back.
    assert(sendto(receiver, "a", 1, 0, (struct sockaddr *)&from, length) == 1);
    return NULL;
}

static void *ask(void *unused) {
    struct sockaddr_in other;
    socklen_t length = sizeof other;
    char text[8];
    (void)unused;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(fd, (struct sockaddr *)&server, sizeof server) == 0);
    client_port = ntohs(name_of(fd).sin_port);
    assert(getpeername(fd, (struct sockaddr *)&other, &length) == 0 && other.sin_port == server.sin_port);
    assert(write(fd, "x", 1) == 1);
    close(fd);

    fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert(sendto(fd, "q", 1, 0, (struct sockaddr *)&mailbox, sizeof mailbox) == 1);
    sender_port = ntohs(name_of(fd).sin_port);
    assert(recv(fd, text, sizeof text, 0) == 1 && text[0] == 'a');
    close(fd);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    listener = bound(SOCK_STREAM);
    assert(listen(listener, 4) == 0);
    server = name_of(listener);
    receiver = bound(SOCK_DGRAM);
    mailbox = name_of(receiver);
    pthread_create(&threads[0], NULL, serve, NULL);
    pthread_create(&threads[1], NULL, ask, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(client_port == accepted_port && sender_port == received_port);
    assert(client_port > 0 && client_port < EPHEMERAL && sender_port > 0 && sender_port < EPHEMERAL);
    printf("server %d, mailbox %d, client %d, sender %d\n", ntohs(server.sin_port), ntohs(mailbox.sin_port), client_port, sender_port);
    printf("descriptors %d %d %d\n", listener, receiver, accepted_fd >= 0);
    return 0;
}
