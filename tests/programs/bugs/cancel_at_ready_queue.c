// mq_receive is a cancellation point also if a message is there.
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static mqd_t queue;
static sem_t begin;

static void *work(void *unused) {
    char message[8];
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sem_wait(&begin);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    mq_receive(queue, message, sizeof message, NULL);
    return unused;
}

int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
    queue = mq_open("/ordain-cancel", O_CREAT | O_RDWR, 0600, &attributes);
    assert(queue >= 0);
    mq_unlink("/ordain-cancel");
    mq_send(queue, "x", 1, 0);
    pthread_t worker;
    void *result;
    pthread_create(&worker, NULL, work, NULL);
    pthread_cancel(worker);
    sem_post(&begin);
    pthread_join(worker, &result);
    assert(result != PTHREAD_CANCELED);
    return 0;
}
