// Two threads and a child of each write down twice that they were here. The program cannot cope with two of the 630 orders in
// which that can happen. Which child comes into being first depends on the schedule too.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char order[9];

static void note(char who) {
    pthread_mutex_lock(&lock);
    order[strlen(order)] = who;
    pthread_mutex_unlock(&lock);
}

static void *child(void *who) {
    note(*(char *)who);
    note(*(char *)who);
    return NULL;
}

static void *parent(void *names) {
    pthread_t thread;
    note(((char *)names)[0]);
    pthread_create(&thread, NULL, child, (char *)names + 1);
    note(((char *)names)[0]);
    pthread_join(thread, NULL);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, parent, "Aa");
    pthread_create(&b, NULL, parent, "Bb");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(strcmp(order, "BAbabaAB") != 0);
    assert(strcmp(order, "AaBbAaBb") != 0);
    return 0;
}
