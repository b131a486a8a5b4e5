// A thread calls pthread_once under a mutex that the initialisation takes too.
// Deadlocks if `report` takes the mutex before the initialisation is over.

#include <pthread.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int opened, reports;

static void open_files(void) {
    pthread_mutex_lock(&lock);
    opened = 1;
    pthread_mutex_unlock(&lock);
}

static void *open_all(void *unused) {
    (void)unused;
    pthread_once(&once, open_files);
    return NULL;
}

static void *report(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    reports++;
    pthread_once(&once, open_files);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t opener, reporter;
    pthread_create(&opener, NULL, open_all, NULL);
    pthread_create(&reporter, NULL, report, NULL);
    pthread_join(opener, NULL);
    pthread_join(reporter, NULL);
    return opened != 1 || reports != 1;
}
