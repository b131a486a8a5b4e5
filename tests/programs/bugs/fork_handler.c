// A handler of pthread_atfork takes two locks in another order than a thread does.

#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void take(void) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
}

static void give(void) {
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
}

static void *work(void *unused) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return unused;
}

int main(void) {
    pthread_t thread;
    int status = 0;
    pthread_atfork(take, give, give);
    pthread_create(&thread, NULL, work, NULL);
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, &status, 0);
    pthread_join(thread, NULL);
    return status != 0;
}
