// A client connects to a server that may not listen yet.
#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static struct sockaddr_in address;

static void *serve(void *unused) {
    listen(listener, 1);
    close(accept(listener, NULL, NULL));
    return NULL;
}

int main(void) {
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, length);
    getsockname(listener, (struct sockaddr *)&address, &length);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    pthread_t server;
    pthread_create(&server, NULL, serve, NULL);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    pthread_join(server, NULL);
    close(client);
    close(listener);
    return 0;
}
