// A lock of an opening goes with the last copy that is closed, whichever descriptor took it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *hold(void *unused) {
    int fd = open("record-lock", O_RDWR), copy = dup(fd);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLKW, &lock) != 0) return unused;
    close(fd);
    close(copy);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    close(open("record-lock", O_CREAT | O_RDWR, 0600));
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, hold, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    unlink("record-lock");
    return 0;
}
