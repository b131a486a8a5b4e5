// A program that sets its user and groups to what they are succeeds, as natively; and signals reach nobody but its own processes.

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    assert(setuid(getuid()) == 0 && setgid(getgid()) == 0);
    assert(seteuid(geteuid()) == 0 && setegid(getegid()) == 0);
    assert(setreuid(-1, -1) == 0 && setregid(-1, getegid()) == 0);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    int status;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(kill(0, 0) == 0 && kill(getpid(), 0) == 0);
    assert(kill(1999999999, SIGKILL) == -1 && errno == ESRCH);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        for (;;) pause();
    }
    assert(kill(child, SIGTERM) == 0);
    assert(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert(kill(child, SIGTERM) == -1 && errno == ESRCH);
    return 0;
}
