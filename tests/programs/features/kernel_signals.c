// Signals that come with a call: a file that grows too large is a signal with a handler, or else an error. And what a program finds at
// first: nobody adopts orphans. A semaphore at its maximum is an error.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void handle(int number) { came += number == SIGXFSZ; }

static void *use(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void two(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, use, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

int main(void) {
    int adopts = 7;
    assert(prctl(PR_GET_CHILD_SUBREAPER, &adopts) == 0 && adopts == 0);
    assert(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    assert(prctl(PR_GET_CHILD_SUBREAPER, &adopts) == 0 && adopts == 1);

    sem_t semaphore;
    assert(sem_init(&semaphore, 0, INT_MAX) == 0);
    assert(sem_post(&semaphore) == -1 && errno == EOVERFLOW);
    assert(sem_trywait(&semaphore) == 0 && sem_post(&semaphore) == 0);

    struct rlimit limit;
    int file = memfd_create("small", 0);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    two();
    signal(SIGXFSZ, handle);
    assert(write(file, "0123456789", 10) == 10);
    assert(write(file, "x", 1) == -1 && errno == EFBIG && came == 1);
    assert(ftruncate(file, 11) == -1 && errno == EFBIG && came == 2);
    assert(pwrite(file, "x", 1, 10) == -1 && errno == EFBIG && came == 3);
    signal(SIGXFSZ, SIG_IGN);
    assert(write(file, "x", 1) == -1 && errno == EFBIG && came == 3);
    return 0;
}
