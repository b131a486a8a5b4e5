// Whether an entry exists is read under the read lock, and it is made later under the write lock.
// The assertion fails if both threads look before anyone inserts.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int entries;

static void *get_or_insert(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&lock);
    int found = entries > 0;
    pthread_rwlock_unlock(&lock);
    if (!found) {
        pthread_rwlock_wrlock(&lock);
        entries++;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, get_or_insert, NULL);
    pthread_create(&b, NULL, get_or_insert, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(entries == 1);
    return 0;
}
