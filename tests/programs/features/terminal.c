// One thread writes to a terminal and another reads from its other end, which is not followed.
#include <pthread.h>
#include <pty.h>
#include <unistd.h>

static int ends[2];

static void *writes(void *unused) {
    return write(ends[0], "x\n", 2) == 2 ? NULL : unused;
}

int main(void) {
    pthread_t thread;
    if (openpty(&ends[0], &ends[1], NULL, NULL, NULL))
        return 3;
    pthread_create(&thread, NULL, writes, NULL);
    pthread_join(thread, NULL);
    char text[8];
    return read(ends[1], text, sizeof text) != 2;
}
