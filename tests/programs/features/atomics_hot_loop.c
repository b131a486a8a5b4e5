/* One thread counts a million times by an atomic variable that nobody else uses. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int count;
static int done;

static void *run(void *argument)
{
    (void)argument;
    for (int i = 0; i < 1000000; i++)
        atomic_fetch_add(&count, 1);
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    assert(count == 1000000 && done == 2);
    return 0;
}
