// A child process is taken to be made before another thread changes the working directory.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}

static void *change(void *unused) {
    if (chdir("/"))
        abort();
    return unused;
}

static void *make(void *unused) {
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(access("directory", F_OK) != 0);
    waitpid(child, &status, 0);
    assert(WEXITSTATUS(status) == 0);
    return unused;
}

int main(void) {
    enter();
    mkdir("directory", 0700);
    pthread_t a, b;
    pthread_create(&a, NULL, change, NULL);
    pthread_create(&b, NULL, make, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
