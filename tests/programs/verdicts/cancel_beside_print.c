// A thread is cancelled where it writes what another one has left in the buffer of standard output.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[3000];

static void *other(void *argument) {
    fwrite(text, 1, sizeof text, stdout);
    return argument;
}

static void *worker(void *argument) {
    fwrite(text, 1, sizeof text, stdout);
    return argument;
}

int main(void) {
    memset(text, '.', sizeof text);
    pthread_t first, second;
    void *result;
    pthread_create(&first, 0, other, 0);
    pthread_create(&second, 0, worker, 0);
    pthread_cancel(second);
    pthread_join(second, &result);
    pthread_join(first, 0);
    if (result == PTHREAD_CANCELED) abort();
    return 0;
}
