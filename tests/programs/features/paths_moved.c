// What paths mean is changed while another thread opens some.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}

static void *move(void *unused) {
    rename("one", "two");
    mkdir("one", 0700);
    close(open("one/file", O_CREAT | O_WRONLY, 0600));
    if (chdir("two"))
        abort();
    return unused;
}

static void *look(void *unused) {
    struct stat status;
    close(open("one/file", O_RDONLY));
    stat("two/file", &status);
    return unused;
}

int main(void) {
    enter();
    mkdir("one", 0700);
    close(open("one/file", O_CREAT | O_WRONLY, 0600));
    pthread_t a, b;
    pthread_create(&a, NULL, move, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    enter();
    unlink("one/file");
    unlink("two/file");
    rmdir("one");
    rmdir("two");
    return 0;
}
