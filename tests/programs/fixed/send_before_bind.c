// As bugs/send_before_bind.c, but the name is made before the threads begin.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}

static int receiver, sender;
static ssize_t sent;
static struct sockaddr_un address = {AF_UNIX, "socket_sent"};

static void *receive(void *unused) {
    return NULL;
}

static void *send_one(void *unused) {
    sent = sendto(sender, "x", 1, 0, (struct sockaddr *)&address, sizeof address);
    return NULL;
}

int main(void) {
    enter();
    unlink("socket_sent");
    receiver = socket(AF_UNIX, SOCK_DGRAM, 0);
    sender = socket(AF_UNIX, SOCK_DGRAM, 0);
    bind(receiver, (struct sockaddr *)&address, sizeof address);
    pthread_t a, b;
    pthread_create(&a, NULL, receive, NULL);
    pthread_create(&b, NULL, send_one, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unlink("socket_sent");
    assert(sent == 1);
    return 0;
}
