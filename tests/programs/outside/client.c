// Two threads ask a server outside for a number, each on a connection of its own. The server counts, so that its answers are never the
// same again. Fails if asked to and the second thread was first.

#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in server;
static char answers[2][16];
static int first = -1;

static void *ask(void *argument) {
    long me = (long)argument;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(fd >= 0 && connect(fd, (struct sockaddr *)&server, sizeof server) == 0);
    assert(send(fd, "?", 1, 0) == 1);
    for (size_t n = 0; n < 8;) {
        ssize_t more = recv(fd, answers[me] + n, 8 - n, 0);
        assert(more > 0);
        n += more;
    }
    if (first < 0) first = me;
    close(fd);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[2];
    assert(count == 3);
    memset(&server, 0, sizeof server);
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons(atoi(arguments[1]));
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, ask, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%s %s\n", answers[0], answers[1]);
    fflush(stdout);
    assert(strcmp(answers[0], answers[1]) != 0);
    assert(arguments[2][0] == '0' || first == 0);
    return 0;
}
