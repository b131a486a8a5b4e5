// A child takes a lock that handlers hold while it is made, so that no other thread does.

#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int written;

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    written++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void take(void) { pthread_mutex_lock(&lock); }
static void give(void) { pthread_mutex_unlock(&lock); }

int main(void) {
    pthread_t thread;
    int status = 0;
    pthread_atfork(take, give, give);
    pthread_create(&thread, NULL, work, NULL);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&lock);
        written++;
        pthread_mutex_unlock(&lock);
        _exit(0);
    }
    waitpid(child, &status, 0);
    pthread_join(thread, NULL);
    return status != 0;
}
