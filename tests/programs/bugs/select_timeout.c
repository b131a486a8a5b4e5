// Main expects that select never times out.
// The assertion fails if the time is over before the worker has written.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/select.h>
#include <unistd.h>

static int answers[2];

static void *work(void *unused) {
    (void)unused;
    return write(answers[1], "a", 1) == 1 ? NULL : answers;
}

int main(void) {
    pthread_t worker;
    if (pipe(answers) != 0) {
        return 2;
    }
    pthread_create(&worker, NULL, work, NULL);
    fd_set ready;
    FD_ZERO(&ready);
    FD_SET(answers[0], &ready);
    struct timeval limit = {.tv_sec = 2};
    int count = select(answers[0] + 1, &ready, NULL, NULL, &limit);
    assert(count == 1);
    char answer;
    ssize_t length = read(answers[0], &answer, 1);
    pthread_join(worker, NULL);
    close(answers[0]);
    close(answers[1]);
    return length != 1;
}
