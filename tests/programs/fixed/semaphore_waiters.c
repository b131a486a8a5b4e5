// A semaphore is handed to who waits for it, and nobody sees it in between.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/sem.h>

static int set;

static void *take(void *unused) {
    struct sembuf one = {.sem_num = 0, .sem_op = -1};
    if (semop(set, &one, 1))
        abort();
    return unused;
}

static void *give(void *unused) {
    int waiting = semctl(set, 0, GETNCNT);
    assert(waiting == 0 || waiting == 1);
    struct sembuf one = {.sem_num = 0, .sem_op = 1};
    semop(set, &one, 1);
    // Whoever waited has it by now.
    assert(!waiting || semctl(set, 0, GETVAL) == 0);
    return unused;
}

int main(void) {
    set = semget(IPC_PRIVATE, 1, 0600);
    pthread_t a, b;
    pthread_create(&a, NULL, take, NULL);
    pthread_create(&b, NULL, give, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    semctl(set, 0, IPC_RMID);
    return 0;
}
