// Locks of the process are given up when any descriptor of the file is closed; a lock of an opening waits for that.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_for_part(void *unused) {
    int fd = open("lock-given-up", O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert(fcntl(fd, F_OFD_SETLKW, &lock) == 0);
    lock.l_type = F_UNLCK;
    fcntl(fd, F_OFD_SETLK, &lock);
    return unused;
}

int main(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp")) return 3;
    int fd = open("lock-given-up", O_CREAT | O_RDWR, 0600);
    pthread_t other;
    pthread_create(&other, NULL, wait_for_part, NULL);
    if (lockf(fd, F_TLOCK, 0) == 0) close(open("lock-given-up", O_RDONLY));
    pthread_join(other, NULL);
    unlink("lock-given-up");
    return 0;
}
