/* A child process uses atomic variables in memory of its own, also after its parent has gone on. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *run(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    int status = 0;
    atomic_fetch_add(&count, 1);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 10; i++)
            atomic_fetch_add(&count, 1);
        _exit(count == 11 ? 7 : 1);
    }
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    atomic_fetch_add(&count, 1);
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    assert(count == 2 && done == 2);
    return 0;
}
