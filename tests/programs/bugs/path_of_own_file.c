// A file is looked at by paths below /proc while another thread writes to it.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}

static void *fill(void *unused) {
    if (write(9, "ab", 2) != 2)
        abort();
    return unused;
}

static void *look(void *unused) {
    struct stat by_number, by_directory;
    stat("/proc/thread-self/fd/9", &by_number);
    stat("/proc/self/cwd/file", &by_directory);
    assert(by_number.st_size == by_directory.st_size);
    return unused;
}

int main(void) {
    enter();
    dup2(open("file", O_CREAT | O_TRUNC | O_RDWR, 0600), 9);
    pthread_t a, b;
    pthread_create(&a, NULL, fill, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unlink("file");
    return 0;
}
