// A queue is polled once, and the message may not be there yet.
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>

static mqd_t queue;

static void *send_one(void *unused) {
    mq_send(queue, "x", 1, 0);
    return NULL;
}

int main(void) {
    struct mq_attr shape = {.mq_maxmsg = 1, .mq_msgsize = 1};
    const char *name = "/ordain_queue_polled";
    mq_unlink(name);
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &shape);
    if (queue < 0)
        return 3;
    mq_unlink(name);
    pthread_t sender;
    pthread_create(&sender, NULL, send_one, NULL);
    struct pollfd wanted = {queue, POLLIN, 0};
    int ready = poll(&wanted, 1, 0);
    pthread_join(sender, NULL);
    mq_close(queue);
    assert(ready == 1);
    return 0;
}
