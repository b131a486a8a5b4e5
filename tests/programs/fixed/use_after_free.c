// The message is read under the same lock as its address.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *message;

static void *reader(void *unused) {
    pthread_mutex_lock(&lock);
    int value = message ? *message : 7;
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
