// Two threads append to a list that main prints.
// What is printed depends on who locks first.

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *names[] = {"one", "two"};
static const char *list[2];
static int length;

static void *append(void *arg) {
    const char **name = arg;
    pthread_mutex_lock(&lock);
    list[length++] = *name;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, append, &names[0]);
    pthread_create(&b, NULL, append, &names[1]);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d: %s %s\n", length, list[0], list[1]);
    return 0;
}
