// One thread fails an assertion while another one, which never waits for it, ends the program with an error: both are findings.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first;

static void *claims(void *number) {
    pthread_mutex_lock(&lock);
    if (first == 0) first = *(int *)number;
    int mine = first == *(int *)number;
    pthread_mutex_unlock(&lock);
    assert(*(int *)number == 1 || mine);
    return NULL;
}

int main(void) {
    int numbers[] = {1, 2};
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, claims, &numbers[0]);
    pthread_create(&threads[1], NULL, claims, &numbers[1]);
    pthread_join(threads[0], NULL);
    pthread_mutex_lock(&lock);
    int lost = first == 2;
    pthread_mutex_unlock(&lock);
    exit(lost);
}
