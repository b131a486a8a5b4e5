// Counts executions in a file that is emptied before main: a process that runs several executions finds what the last one left. Only a
// program that is started anew does the same each time.

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static char path[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void prepare(int count, char **arguments) {
    if (count > 0)
        snprintf(path, sizeof path, "%s.count", arguments[0]);
    close(open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600));
}

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t worker;
    int file = open(path, O_RDWR | O_APPEND);
    long executions = lseek(file, 0, SEEK_END);
    if (write(file, "x", 1) != 1)
        return 1;
    close(file);
    pthread_create(&worker, NULL, work, NULL);
    for (long i = 0; i <= executions; i++)
        work(NULL);
    pthread_join(worker, NULL);
    return 0;
}
