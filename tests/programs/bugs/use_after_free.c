// A message is freed between taking its address and reading it. Only AddressSanitizer notices.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *message;

static void *reader(void *unused) {
    pthread_mutex_lock(&lock);
    int *seen = message;
    pthread_mutex_unlock(&lock);
    if (!seen) return unused;
    pthread_mutex_lock(&lock);
    int value = *seen;
    pthread_mutex_unlock(&lock);
    return value == 7 ? unused : &lock;
}

int main(void) {
    pthread_t thread;
    message = malloc(sizeof *message);
    *message = 7;
    pthread_create(&thread, NULL, reader, NULL);
    pthread_mutex_lock(&lock);
    free(message);
    message = NULL;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
