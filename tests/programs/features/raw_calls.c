// System calls by syscall() behave as the functions do: a thread ends alone, and pipes and clocks are the model's.

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int ends[2], ended;

// Ends by itself, while the others go on.
static void *vanish(void *unused) {
    (void)unused;
    assert(syscall(SYS_write, ends[1], "x", 1) == 1);
    ended = 1;
    syscall(SYS_exit, 1);
    assert(0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    struct timespec before, after, second = {1, 0};
    char byte;
    assert(pipe(ends) == 0);
    pthread_create(&thread, NULL, vanish, NULL);
    // Waits for the other thread, and does not stop the program.
    assert(syscall(SYS_read, ends[0], &byte, 1) == 1 && byte == 'x');
    pthread_join(thread, NULL);
    assert(ended);

    assert(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &before) == 0);
    assert(syscall(SYS_nanosleep, &second, NULL) == 0);
    assert(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &second, NULL) == 0);
    assert(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &after) == 0);
    assert(after.tv_sec - before.tv_sec == 2);
    return 0;
}
