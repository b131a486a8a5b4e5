// Two threads try to take a lock that is not given back before they end: a loop that looks like waiting and is only long. How many
// steps an execution has depends on the order of threads, children of both among them.

#include <pthread.h>
#include <stddef.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static char order[15];

static size_t note(char who) {
    pthread_mutex_lock(&lock);
    size_t place = strlen(order);
    order[place] = who;
    pthread_mutex_unlock(&lock);
    return place;
}

static void *child(void *who) {
    for (int i = 0; i < 5; i++) {
        note(*(char *)who);
    }
    return NULL;
}

static void *parent(void *names) {
    pthread_t thread;
    note(((char *)names)[0]);
    pthread_create(&thread, NULL, child, (char *)names + 1);
    for (int i = 0; i < 20; i++) {
        pthread_mutex_trylock(&held);
    }
    if (note(((char *)names)[0]) % 2) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(thread, NULL);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_mutex_lock(&held);
    pthread_create(&a, NULL, parent, "Aa");
    pthread_create(&b, NULL, parent, "Bb");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_mutex_unlock(&held);
    return 0;
}
