// An alarm that nobody handles would have ended the program during its sleep.
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    alarm(1);
    sleep(3);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
