// Objects are initialised while other threads run, but nobody uses one before it was handed over; some are used again after their end.
#include <pthread.h>
#include <stdlib.h>

struct request {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    int is_done;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct request *queue;

static void *serve(void *unused) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&mutex);
        while (!queue) pthread_cond_wait(&filled, &mutex);
        struct request *request = queue;
        queue = 0;
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&request->mutex);
        request->is_done = 1;
        pthread_cond_signal(&request->done);
        pthread_mutex_unlock(&request->mutex);
    }
    return unused;
}

static void ask(struct request *request) {
    pthread_mutex_init(&request->mutex, 0);
    pthread_cond_init(&request->done, 0);
    request->is_done = 0;
    pthread_mutex_lock(&mutex);
    queue = request;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&request->mutex);
    while (!request->is_done) pthread_cond_wait(&request->done, &request->mutex);
    pthread_mutex_unlock(&request->mutex);
    pthread_cond_destroy(&request->done);
    pthread_mutex_destroy(&request->mutex);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, serve, 0);
    struct request here;
    ask(&here);
    struct request *there = malloc(sizeof *there);
    ask(there);
    free(there);
    pthread_join(thread, 0);
    return 0;
}
