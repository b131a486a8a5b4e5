// Two semaphores of System V are taken in opposite orders.
#include <assert.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>

static int set;

static void change(int which, int by) {
    struct sembuf operation = {.sem_num = which, .sem_op = by};
    semop(set, &operation, 1);
}

static void *first(void *unused) {
    change(0, -1);
    change(1, -1);
    change(1, 1);
    change(0, 1);
    return NULL;
}

static void *second(void *unused) {
    change(1, -1);
    change(0, -1);
    change(0, 1);
    change(1, 1);
    return NULL;
}

int main(void) {
    set = semget(IPC_PRIVATE, 2, 0600);
    semctl(set, 0, SETVAL, 1);
    semctl(set, 1, SETVAL, 1);
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    semctl(set, 0, IPC_RMID);
    return 0;
}
