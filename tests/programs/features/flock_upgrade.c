// Two readers become writers. Each gives up its lock for reading before it waits, so they do not wait for each other.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static void *work(void *unused) {
    int fd = open("lock-upgrades", O_RDWR);
    flock(fd, LOCK_SH);
    flock(fd, LOCK_EX);
    close(fd);
    return unused;
}

int main(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp")) return 3;
    close(open("lock-upgrades", O_CREAT | O_WRONLY, 0600));
    pthread_t other;
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
    pthread_join(other, NULL);
    unlink("lock-upgrades");
    return 0;
}
