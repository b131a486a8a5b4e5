// The second thread begins when the first has printed.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *greet(void *name) {
    printf("hello from %s\n", (char *)name);
    pthread_mutex_lock(&mutex);
    count++;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, greet, "one");
    pthread_join(a, NULL);
    pthread_create(&b, NULL, greet, "two");
    pthread_join(b, NULL);
    return 0;
}
