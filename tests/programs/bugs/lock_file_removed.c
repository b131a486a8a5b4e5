// The owner of a lock file removes it while it still works: who comes then makes another one, and works too.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int workers;

static void change(int by) {
    pthread_mutex_lock(&mutex);
    workers += by;
    assert(workers <= 1);
    pthread_mutex_unlock(&mutex);
}

static void *work(void *unused) {
    int fd = open("lock-of-worker", O_CREAT | O_RDWR, 0600);
    flock(fd, LOCK_EX);
    change(1);
    unlink("lock-of-worker");
    change(-1);
    close(fd);
    return unused;
}

int main(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp")) return 3;
    pthread_t other;
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
    pthread_join(other, NULL);
    return 0;
}
