// Calls on message queues and locks on parts of files go on behind a handler that wants that.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static mqd_t empty, full;
static int second;

static void on_signal(int signal) { (void)signal; }

static void *work(void *unused) {
    (void)unused;
    char message[8];
    assert(mq_receive(empty, message, sizeof message, NULL) == 1);
    assert(mq_send(full, "x", 1, 0) == 0);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    assert(mq_timedreceive(empty, message, sizeof message, NULL, &until) == 1 || errno == ETIMEDOUT);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert(fcntl(second, F_OFD_SETLKW, &lock) == 0);
    return NULL;
}

static mqd_t make(const char *kind) {
    char name[64];
    snprintf(name, sizeof name, "/ordain-restarted-%s-%d", kind, (int)getpid());
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    mq_unlink(name);
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    assert(queue >= 0);
    mq_unlink(name);
    return queue;
}

int main(void) {
    char message[8], name[] = "/tmp/ordain-restarted-XXXXXX";
    empty = make("empty");
    full = make("full");
    assert(mq_send(full, "x", 1, 0) == 0);
    int first = mkstemp(name);
    second = open(name, O_RDWR);
    assert(first >= 0 && second >= 0 && unlink(name) == 0);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert(fcntl(first, F_OFD_SETLK, &lock) == 0);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_kill(worker, SIGUSR1);
    mq_send(empty, "x", 1, 0);
    mq_receive(full, message, sizeof message, NULL);
    mq_send(empty, "x", 1, 0);
    lock.l_type = F_UNLCK;
    assert(fcntl(first, F_OFD_SETLK, &lock) == 0);
    pthread_join(worker, NULL);
    return 0;
}
