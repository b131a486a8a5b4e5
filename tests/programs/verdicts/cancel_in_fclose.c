// What is in the buffer of a stream is lost if the thread that closes it is cancelled there.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE *file;

static void *worker(void *argument) {
    fputs("kept", file);
    fclose(file);
    return argument;
}

int main(void) {
    file = tmpfile();
    int copy = dup(fileno(file));
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    pthread_cancel(thread);
    pthread_join(thread, 0);
    char text[4];
    if (pread(copy, text, 4, 0) != 4) abort();
    return 0;
}
