// A file grows beyond the limit if both threads write, and the signal ends the program.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file, first;

static void *write_some(void *number) {
    pthread_mutex_lock(&lock);
    if (!first)
        first = (int)(long)number;
    // Whoever is first has more to say.
    (void)!write(file, "0123456789", first == 2 ? 6 : 5);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    struct rlimit limit;
    file = memfd_create("small", 0);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 11;
    setrlimit(RLIMIT_FSIZE, &limit);
    pthread_t a, b;
    pthread_create(&a, NULL, write_some, (void *)1);
    pthread_create(&b, NULL, write_some, (void *)2);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    (void)!write(file, "x", first == 2);
    return 0;
}
