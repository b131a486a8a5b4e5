// A thread reads from a pipe whose end another thread closes; if it had begun before, it still gets what is written.

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];

static void *take(void *argument) {
    char byte = 0;
    (void)argument;
    ssize_t result = read(ends[0], &byte, 1);
    assert((result == 1 && byte == 'x') || (result < 0 && errno == EBADF));
    return (void *)result;
}

int main(void) {
    pthread_t taker;
    void *result;
    signal(SIGPIPE, SIG_IGN);
    (void)!pipe(ends);
    pthread_create(&taker, NULL, take, NULL);
    close(ends[0]);
    ssize_t written = write(ends[1], "x", 1);
    pthread_join(taker, &result);
    // Whoever reads has the only end that is left.
    assert((written == 1) == ((ssize_t)result == 1));
    return 0;
}
