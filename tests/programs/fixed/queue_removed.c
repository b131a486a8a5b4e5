// A queue may be removed before somebody asks for a message, or while somebody waits for one.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/msg.h>

static int queue;

static void *receive(void *unused) {
    struct {
        long type;
        char text[1];
    } letter;
    int error = msgrcv(queue, &letter, 1, 0, 0) < 0 ? errno : 0;
    assert(error == EINVAL || error == EIDRM);
    return unused;
}

static void *end(void *unused) {
    msgctl(queue, IPC_RMID, NULL);
    return unused;
}

int main(void) {
    queue = msgget(IPC_PRIVATE, 0600);
    pthread_t a, b;
    pthread_create(&a, NULL, receive, NULL);
    pthread_create(&b, NULL, end, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
