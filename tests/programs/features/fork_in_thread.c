// A thread makes a child that returns from the thread's function, and another that ends by pthread_exit: both end as processes do.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int statuses[2];

static void *make(void *number) {
    int i = *(int *)number;
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        if (i == 1) pthread_exit(NULL);
        return NULL;
    }
    int status = -1;
    assert(waitpid(child, &status, 0) == child);
    pthread_mutex_lock(&lock);
    statuses[i] = status;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    statuses[0] = statuses[1] = -1;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, make, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(statuses[0] == 0 && statuses[1] == 0);
    return 0;
}
