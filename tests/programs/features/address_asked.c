// The address of a socket is asked for while another thread connects it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener, caller;

static void *join(void *unused) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    getsockname(listener, (struct sockaddr *)&address, &length);
    connect(caller, (struct sockaddr *)&address, sizeof address);
    return unused;
}

static void *ask(void *unused) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    getpeername(caller, (struct sockaddr *)&address, &length);
    return unused;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 4);
    caller = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t a, b;
    pthread_create(&a, NULL, join, NULL);
    pthread_create(&b, NULL, ask, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
