// A named semaphore is made anew while another thread opens it.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static void *renew(void *unused) {
    sem_unlink("/ordain-test");
    sem_close(sem_open("/ordain-test", O_CREAT | O_EXCL, 0600, 5));
    return unused;
}

static void *look(void *unused) {
    int value = 1;
    sem_t *found = sem_open("/ordain-test", 0);
    if (found != SEM_FAILED) {
        sem_getvalue(found, &value);
        sem_close(found);
    }
    assert(value == 1 || value == 5);
    return unused;
}

int main(void) {
    sem_t *first = sem_open("/ordain-test", O_CREAT, 0600, 1);
    pthread_t a, b;
    pthread_create(&a, NULL, renew, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_close(first);
    sem_unlink("/ordain-test");
    return 0;
}
