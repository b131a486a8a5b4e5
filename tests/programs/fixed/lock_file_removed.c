// Who has locked a file looks whether it is still the one with the name, and begins again if not.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int workers;

static void change(int by) {
    pthread_mutex_lock(&mutex);
    workers += by;
    assert(workers <= 1);
    pthread_mutex_unlock(&mutex);
}

static int lock(void) {
    for (;;) {
        int fd = open("lock-of-worker", O_CREAT | O_RDWR, 0600);
        struct stat mine, named;
        flock(fd, LOCK_EX);
        fstat(fd, &mine);
        if (stat("lock-of-worker", &named) == 0 && mine.st_ino == named.st_ino) return fd;
        close(fd);
    }
}

static void *work(void *unused) {
    int fd = lock();
    change(1);
    change(-1);
    unlink("lock-of-worker");
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
