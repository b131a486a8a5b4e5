/* Threads count by an atomic variable of a library that is loaded while the program runs. */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*count_one)(void);
static int done;

static void *run(void *argument)
{
    (void)argument;
    count_one();
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    void *library = dlopen("libcounter.so", RTLD_NOW);
    assert(library);
    count_one = (int (*)(void))dlsym(library, "count_one");
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(count_one() == 2 && done == 2);
    return 0;
}
