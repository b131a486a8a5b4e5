// A named semaphore is used after the last one who had it open has closed it: its memory is gone.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t *semaphore;

static void *post(void *unused) {
    sem_post(semaphore);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_unlink("/ordain-closed");
    semaphore = sem_open("/ordain-closed", O_CREAT, 0600, 1);
    if (semaphore == SEM_FAILED) return 1;
    pthread_create(&thread, 0, post, 0);
    sem_wait(semaphore);
    sem_close(semaphore);
    sem_unlink("/ordain-closed");
    pthread_join(thread, 0);
    return 0;
}
