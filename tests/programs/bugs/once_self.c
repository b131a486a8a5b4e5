// The initialisation logs if it is verbose, and the logger waits for the initialisation.
// Deadlocks with itself if the initialisation runs after verbosity was switched on.

#include <pthread.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int verbose, lines;

static void initialise(void);

static void put_line(void) {
    pthread_mutex_lock(&lock);
    lines++;
    pthread_mutex_unlock(&lock);
}

static void log_line(void) {
    pthread_once(&once, initialise);
    put_line();
}

static void initialise(void) {
    pthread_mutex_lock(&lock);
    int talk = verbose;
    pthread_mutex_unlock(&lock);
    if (talk) {
        log_line();
    }
}

static void *work(void *unused) {
    (void)unused;
    log_line();
    return NULL;
}

static void *make_verbose(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    verbose = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker, switcher;
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&switcher, NULL, make_verbose, NULL);
    pthread_join(worker, NULL);
    pthread_join(switcher, NULL);
    return 0;
}
