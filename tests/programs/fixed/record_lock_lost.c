// A thread that looks at another file does not give up the locks which the process has on its own.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

static void *look(void *unused) {
    close(open("/dev/null", O_RDONLY));
    return unused;
}

int main(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp")) return 3;
    int fd = open("lock-lost", O_CREAT | O_RDWR, 0600), status;
    pthread_t other;
    pthread_create(&other, NULL, look, NULL);
    fcntl(fd, F_SETLK, &all);
    pid_t child = fork();
    if (child == 0) _exit(fcntl(fd, F_SETLK, &all) == 0);
    waitpid(child, &status, 0);
    pthread_join(other, NULL);
    unlink("lock-lost");
    return WEXITSTATUS(status);
}
