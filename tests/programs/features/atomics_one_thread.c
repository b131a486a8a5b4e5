/* Atomic variables that one thread uses at a time: before the other is made, in it, after it was joined. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int handed_over, of_main, bytes_of_main;
static struct { atomic_char first, second; } beside;
static int shared;

static void *run(void *argument)
{
    (void)argument;
    atomic_fetch_add(&handed_over, 1);
    atomic_fetch_add(&beside.first, 1);
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_t thread;
    atomic_exchange(&handed_over, 1);
    pthread_create(&thread, 0, run, 0);
    atomic_fetch_add(&of_main, 1);
    atomic_fetch_add(&beside.second, 1);
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    assert(atomic_fetch_sub(&handed_over, 2) == 2 && of_main == 1 && shared == 2 && bytes_of_main == 0);
    return 0;
}
