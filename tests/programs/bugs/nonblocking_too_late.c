// A pipe without a writer's help is made nonblocking by another thread: a reader that is earlier waits for ever.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *change(void *unused) {
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return NULL;
}

int main(void) {
    char byte;
    pthread_t thread;
    if (pipe(ends))
        return 2;
    pthread_create(&thread, NULL, change, NULL);
    (void)!read(ends[0], &byte, 1);
    pthread_join(thread, NULL);
    return 0;
}
