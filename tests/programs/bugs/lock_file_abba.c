// Two threads lock two files with flock in opposite orders.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static void both(const char *one, const char *other) {
    int a = open(one, O_RDONLY), b = open(other, O_RDONLY);
    flock(a, LOCK_EX);
    flock(b, LOCK_EX);
    close(b);
    close(a);
}

static void *credit(void *unused) {
    both("lock-accounts", "lock-journal");
    return unused;
}

int main(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp")) return 3;
    close(open("lock-accounts", O_CREAT | O_WRONLY, 0600));
    close(open("lock-journal", O_CREAT | O_WRONLY, 0600));
    pthread_t other;
    pthread_create(&other, NULL, credit, NULL);
    both("lock-journal", "lock-accounts");
    pthread_join(other, NULL);
    unlink("lock-accounts");
    unlink("lock-journal");
    return 0;
}
