// Locks of streams are taken in opposite orders: two of them, or one and a mutex while another thread just prints.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static FILE *first, *second;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *backwards(void *unused) {
    flockfile(second);
    flockfile(first);
    fputc_unlocked('x', first);
    funlockfile(first);
    funlockfile(second);
    return unused;
}

static void *count(void *unused) {
    flockfile(first);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    funlockfile(first);
    return unused;
}

int main(int argc, char **argv) {
    int is_mutex = argc > 1 && !strcmp(argv[1], "mutex");
    pthread_t thread;
    first = fopen("/dev/null", "w");
    second = fopen("/dev/null", "w");
    pthread_create(&thread, 0, is_mutex ? count : backwards, 0);
    if (is_mutex) {
        pthread_mutex_lock(&mutex);
        fprintf(first, "a line\n");
        pthread_mutex_unlock(&mutex);
    } else {
        flockfile(first);
        flockfile(second);
        fputc_unlocked('y', second);
        funlockfile(second);
        funlockfile(first);
    }
    pthread_join(thread, 0);
    return 0;
}
