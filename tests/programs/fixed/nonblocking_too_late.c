// The pipe is nonblocking before anyone reads.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *use(void *unused) {
    char byte;
    return (void *)(long)(read(ends[0], &byte, 1) != -1 || errno != EAGAIN);
}

int main(void) {
    void *wrong[2];
    pthread_t threads[2];
    if (pipe(ends))
        return 2;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &wrong[i]);
    return wrong[0] || wrong[1];
}
