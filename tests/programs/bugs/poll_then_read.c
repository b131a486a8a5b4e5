// Two workers read a pipe if poll says that there is a byte, but there is only one.
// Deadlocks if both poll before anyone reads: the second read waits forever.

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int jobs[2];

static void *work(void *unused) {
    (void)unused;
    struct pollfd ready = {.fd = jobs[0], .events = POLLIN};
    char job;
    // An error of a read that does not wait means that the other worker was quicker.
    if (poll(&ready, 1, 0) == 1 && read(jobs[0], &job, 1) == 1) {
        return jobs;
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    void *by_a, *by_b;
    if (pipe(jobs) != 0 || write(jobs[1], "j", 1) != 1) {
        return 2;
    }
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, &by_a);
    pthread_join(b, &by_b);
    close(jobs[0]);
    close(jobs[1]);
    return (by_a != NULL) + (by_b != NULL) != 1;
}
