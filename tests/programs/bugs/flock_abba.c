// Two threads lock two files with flock in opposite orders.
// Deadlocks if each has its first file before anyone locks its second.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

struct files {
    int first, second;
};

// Opens the file once more: locks belong to openings, not to threads.
static int reopen(int file) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, O_RDWR);
}

static void *lock_both(void *arg) {
    struct files *files = arg;
    flock(files->first, LOCK_EX);
    flock(files->second, LOCK_EX);
    flock(files->second, LOCK_UN);
    flock(files->first, LOCK_UN);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    int accounts = memfd_create("accounts", 0), journal = memfd_create("journal", 0);
    struct files book = {.first = reopen(accounts), .second = reopen(journal)};
    struct files audit = {.first = reopen(journal), .second = reopen(accounts)};
    if (book.first < 0 || book.second < 0 || audit.first < 0 || audit.second < 0) {
        return 2;
    }
    pthread_create(&a, NULL, lock_both, &book);
    pthread_create(&b, NULL, lock_both, &audit);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
