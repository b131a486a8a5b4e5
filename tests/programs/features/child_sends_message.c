// Threads wait for messages that child processes send to queues, and for semaphores that they change. That is no deadlock.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

struct message {
    long type;
    char text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *locks(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    char name[40], text[8192];
    snprintf(name, sizeof name, "/ordain-child-%d", (int)getpid());
    mq_unlink(name);
    int messages = msgget(IPC_PRIVATE, 0600), semaphores = semget(IPC_PRIVATE, 1, 0600);
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, NULL);
    pid_t child = fork();
    struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
    if (child == 0) {
        struct message message = {1, 'x'};
        usleep(2000);
        msgsnd(messages, &message, 1, 0);
        semop(semaphores, &up, 1);
        mq_send(queue, "y", 1, 0);
        _exit(0);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, locks, NULL);
    struct message message = {0, 0};
    int wrong = msgrcv(messages, &message, 1, 0, 0) != 1 || message.text != 'x';
    wrong |= semop(semaphores, &down, 1) != 0;
    wrong |= mq_receive(queue, text, sizeof text, NULL) != 1 || text[0] != 'y';
    pthread_join(thread, NULL);
    waitpid(child, NULL, 0);
    msgctl(messages, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    mq_close(queue);
    mq_unlink(name);
    return wrong;
}
