// Opening a FIFO waits for the other end, and two threads open two of them in the same order.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}
#include <sys/stat.h>

static void *first(void *unused) {
    int out = open("there", O_WRONLY);
    int in = open("back", O_RDONLY);
    close(out);
    close(in);
    return NULL;
}

static void *second(void *unused) {
    int in = open("there", O_RDONLY);
    int out = open("back", O_WRONLY);
    close(out);
    close(in);
    return NULL;
}

int main(void) {
    enter();
    unlink("there");
    unlink("back");
    if (mkfifo("there", 0600) || mkfifo("back", 0600))
        return 3;
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unlink("there");
    unlink("back");
    return 0;
}
