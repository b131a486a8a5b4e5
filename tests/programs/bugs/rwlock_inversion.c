// A reader takes the mutex inside the read lock, a writer takes the write lock inside the mutex.
// Deadlocks if each has its first lock before anyone takes its second.

#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t statistics = PTHREAD_MUTEX_INITIALIZER;
static int entries, accesses;

static void *look_up(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&table);
    pthread_mutex_lock(&statistics);
    accesses += entries >= 0;
    pthread_mutex_unlock(&statistics);
    pthread_rwlock_unlock(&table);
    return NULL;
}

static void *insert(void *unused) {
    (void)unused;
    pthread_mutex_lock(&statistics);
    pthread_rwlock_wrlock(&table);
    entries++;
    accesses++;
    pthread_rwlock_unlock(&table);
    pthread_mutex_unlock(&statistics);
    return NULL;
}

int main(void) {
    pthread_t reader, writer;
    pthread_create(&reader, NULL, look_up, NULL);
    pthread_create(&writer, NULL, insert, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    return accesses != 2;
}
