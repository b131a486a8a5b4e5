// A lock file is removed and made again, and may get the number that the old one had. With an argument nobody waits.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int how = LOCK_EX;

static void *work(void *unused) {
    int fd = open("lock-again", O_CREAT | O_RDWR, 0600);
    flock(fd, how);
    unlink("lock-again");
    close(fd);
    return unused;
}

int main(int count, char **arguments) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp")) return 3;
    if (count > 1) how |= LOCK_NB;
    pthread_t other;
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
    pthread_join(other, NULL);
    return 0;
}
