// A pipe that a child process had too is looked at before another thread has written.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static void *fill(void *unused) {
    if (write(ends[1], "ab", 2) != 2)
        abort();
    return unused;
}

static void *look(void *unused) {
    int count = 0;
    ioctl(ends[0], FIONREAD, &count);
    assert(count == 2);
    return unused;
}

int main(void) {
    if (pipe(ends))
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    pthread_t a, b;
    pthread_create(&a, NULL, fill, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
