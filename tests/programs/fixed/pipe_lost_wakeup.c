// The worker says that it sleeps in the critical section in which it found no job.

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int wake_up[2];
static int jobs, sleeping;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int idle = jobs == 0;
    sleeping = idle;
    pthread_mutex_unlock(&lock);
    if (idle) {
        char byte;
        if (read(wake_up[0], &byte, 1) != 1) {
            return &jobs;
        }
    }
    return NULL;
}

int main(void) {
    pthread_t worker;
    if (pipe(wake_up) != 0) {
        return 2;
    }
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    jobs++;
    int asleep = sleeping;
    pthread_mutex_unlock(&lock);
    if (asleep && write(wake_up[1], "!", 1) != 1) {
        return 2;
    }
    void *failed;
    pthread_join(worker, &failed);
    close(wake_up[0]);
    close(wake_up[1]);
    return failed != NULL;
}
