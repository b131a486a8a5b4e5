/* A stack without locks, into which two threads put something. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct node {
    struct node *next;
};

static _Atomic(struct node *) top;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *push(void *argument)
{
    struct node *node = argument;
    node->next = atomic_load(&top);
    while (!atomic_compare_exchange_weak(&top, &node->next, node))
        ;
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    static struct node nodes[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, push, &nodes[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(done == 2 && top && top->next && !top->next->next);
    return 0;
}
