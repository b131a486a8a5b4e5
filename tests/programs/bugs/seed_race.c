// A thread expects the numbers of its seed, while another draws from the same sequence.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static void *draw(void *unused) {
    rand();
    return unused;
}

int main(void) {
    pthread_t thread;
    srand(7);
    rand();
    int second = rand();
    pthread_create(&thread, 0, draw, 0);
    srand(7);
    rand();
    assert(rand() == second);
    pthread_join(thread, 0);
    return 0;
}
