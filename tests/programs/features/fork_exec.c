// A thread forks a child that becomes /bin/true, while another thread works; the status of the child comes back.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int work_done;

static void *run_child(void *status) {
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    assert(waitpid(child, status, 0) == child);
    return NULL;
}

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    work_done = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t parent, worker;
    int status = -1;
    pthread_create(&parent, NULL, run_child, &status);
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(parent, NULL);
    pthread_join(worker, NULL);
    assert(work_done);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
