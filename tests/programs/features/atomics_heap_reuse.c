/* Each thread has an atomic variable of its own on the heap, and on its stack; the memory of one is used again for the other. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *run(void *argument)
{
    (void)argument;
    atomic_int *own = malloc(sizeof *own);
    volatile atomic_int local = 1;
    atomic_init(own, 1);
    int value = atomic_fetch_add(own, 1) + atomic_fetch_add(&local, 1);
    free(own);
    pthread_mutex_lock(&lock);
    sum += value;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(sum == 4);
    return 0;
}
