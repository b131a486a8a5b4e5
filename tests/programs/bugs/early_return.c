// A thread returns early without unlocking.
// Shows if the owner closed the file before the reader looks.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int closed, bytes;

static void *read_file(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    if (closed) {
        return NULL;
    }
    bytes++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *close_file(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    closed = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t reader, owner;
    pthread_create(&reader, NULL, read_file, NULL);
    pthread_create(&owner, NULL, close_file, NULL);
    pthread_join(reader, NULL);
    pthread_join(owner, NULL);
    return 0;
}
