// Each of two threads takes messages for itself.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>

struct letter {
    long type;
    char text[1];
};

static int queue;

static void *sender(void *unused) {
    struct letter letter = {.type = 1};
    msgsnd(queue, &letter, 1, 0);
    letter.type = 2;
    msgsnd(queue, &letter, 1, 0);
    return NULL;
}

static void *receiver(void *type) {
    struct letter letter;
    if (msgrcv(queue, &letter, 1, (long)type, 0) != 1)
        abort();
    assert(letter.type == (long)type);
    return NULL;
}

int main(void) {
    queue = msgget(IPC_PRIVATE, 0600);
    pthread_t a, b, c;
    pthread_create(&a, NULL, receiver, (void *)1);
    pthread_create(&b, NULL, receiver, (void *)2);
    pthread_create(&c, NULL, sender, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    msgctl(queue, IPC_RMID, NULL);
    return 0;
}
