// A thread reads the mask of new files below /proc, and Ordain does not know when that changes.
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

static char text[4096];

static void *change(void *unused) {
    umask(077);
    return unused;
}

static void *look(void *unused) {
    int fd = open("/proc/self/status", O_RDONLY);
    if (read(fd, text, sizeof text) < 0)
        return NULL;
    close(fd);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, change, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
