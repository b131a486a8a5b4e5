// Two transfers between two accounts, one in each direction. Run it as often as you like: it ends. Then check it:
//
//     cc -g -pthread examples/native/transfer.c -o transfer
//     ordain check -- ./transfer

#include <pthread.h>
#include <stdio.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account current = {PTHREAD_MUTEX_INITIALIZER, 100};

static void transfer(struct account *from, struct account *to, int amount) {
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *save(void *unused) {
    transfer(&current, &savings, 30);
    return unused;
}

int main(void) {
    pthread_t saver;
    pthread_create(&saver, NULL, save, NULL);
    transfer(&savings, &current, 20);
    pthread_join(saver, NULL);
    printf("savings %d, current %d\n", savings.balance, current.balance);
    return 0;
}
