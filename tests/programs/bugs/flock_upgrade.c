// A reader tries to become the writer. If that fails, its lock for reading is gone too, which it does not know.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int readers, writers;

static void change(int *which, int by) {
    pthread_mutex_lock(&mutex);
    *which += by;
    assert(writers == 0 || readers == 0);
    pthread_mutex_unlock(&mutex);
}

static void *look(void *unused) {
    int fd = open("lock-upgrade", O_RDWR);
    flock(fd, LOCK_SH);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        change(&readers, 1);
        change(&readers, -1);
    }
    close(fd);
    return unused;
}

static void *write_all(void *unused) {
    int fd = open("lock-upgrade", O_RDWR);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        change(&writers, 1);
        change(&writers, -1);
    }
    close(fd);
    return unused;
}

int main(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp")) return 3;
    close(open("lock-upgrade", O_CREAT | O_WRONLY, 0600));
    pthread_t reader, writer;
    pthread_create(&reader, NULL, look, NULL);
    pthread_create(&writer, NULL, write_all, NULL);
    int fd = open("lock-upgrade", O_RDWR);
    flock(fd, LOCK_SH);
    close(fd);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    unlink("lock-upgrade");
    return 0;
}
