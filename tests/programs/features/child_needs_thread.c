// The main thread waits for a child, which waits for what another thread writes into a pipe.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *feed(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    assert(write(ends[1], "x", 1) == 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    int status = -1;
    char letter;
    assert(pipe(ends) == 0);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) _exit(read(ends[0], &letter, 1) == 1 ? 0 : 1);
    pthread_create(&thread, NULL, feed, NULL);
    assert(waitpid(child, &status, 0) == child && status == 0);
    pthread_join(thread, NULL);
    return 0;
}
