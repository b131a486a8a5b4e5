// As bugs/dup2_over_used.c, but who writes has a descriptor of its own.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int old[2], new[2], own;

static void *replace(void *unused) {
    dup2(new[1], old[1]);
    return NULL;
}

static void *use(void *unused) {
    char byte;
    write(own, "x", 1);
    assert(read(old[0], &byte, 1) == 1);
    return NULL;
}

int main(void) {
    pipe(old);
    pipe(new);
    own = dup(old[1]);
    pthread_t a, b;
    pthread_create(&a, NULL, replace, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
