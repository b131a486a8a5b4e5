// Makes every kind of object that outlives a process, and leaves it: each execution must find that there is none.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int made;

static void *make(void *unused) {
    pthread_mutex_lock(&mutex);
    if (made++ == 0) {
        if (shmget(0x6f726401, 4096, IPC_CREAT | IPC_EXCL | 0600) < 0) abort();
        if (semget(0x6f726402, 1, IPC_CREAT | IPC_EXCL | 0600) < 0) abort();
        if (msgget(0x6f726403, IPC_CREAT | IPC_EXCL | 0600) < 0) abort();
        if (mq_open("/ordain-outlives", O_CREAT | O_EXCL | O_RDWR, 0600, NULL) < 0) abort();
        if (shm_open("/ordain-outlives", O_CREAT | O_EXCL | O_RDWR, 0600) < 0) abort();
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, make, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
