// A queue is made while another thread has changed the mask of files.
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void *mask(void *unused) {
    umask(077);
    return unused;
}

int main(void) {
    char name[40];
    snprintf(name, sizeof name, "/ordain-mask-%d", (int)getpid());
    umask(022);
    mq_unlink(name);
    pthread_t thread;
    pthread_create(&thread, NULL, mask, NULL);
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0666, NULL);
    struct stat status;
    fstat(queue, &status);
    mq_close(queue);
    mq_unlink(name);
    pthread_join(thread, NULL);
    assert((status.st_mode & 0777) == 0644);
    return 0;
}
