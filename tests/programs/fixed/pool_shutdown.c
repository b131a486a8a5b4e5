// A pool that is shut down refuses jobs.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_there = PTHREAD_COND_INITIALIZER, work_done = PTHREAD_COND_INITIALIZER;
static int jobs, done, stop;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (jobs == 0 && !stop) {
        pthread_cond_wait(&work_there, &lock);
    }
    // What was submitted in time is done, shut down or not.
    if (jobs > 0) {
        jobs--;
        done++;
        pthread_cond_signal(&work_done);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *shut_down(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_cond_signal(&work_there);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void submit_and_await(void) {
    pthread_mutex_lock(&lock);
    if (!stop) {
        jobs++;
        pthread_cond_signal(&work_there);
        while (done == 0) {
            pthread_cond_wait(&work_done, &lock);
        }
    }
    pthread_mutex_unlock(&lock);
}

int main(void) {
    pthread_t worker, stopper;
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&stopper, NULL, shut_down, NULL);
    submit_and_await();
    pthread_join(worker, NULL);
    pthread_join(stopper, NULL);
    return 0;
}
