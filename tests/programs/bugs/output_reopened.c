// Two threads write by descriptors that they open themselves: which line is first hangs on the schedule.
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static const char *path;

static void *tell(void *line) {
    int fd = open(path, O_WRONLY | O_APPEND);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
        _exit(2);
    close(fd);
    return NULL;
}

int main(int argc, char **argv) {
    path = argc > 1 ? argv[1] : "/dev/stdout";
    pthread_t a, b;
    pthread_create(&a, NULL, tell, "one\n");
    pthread_create(&b, NULL, tell, "two\n");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
