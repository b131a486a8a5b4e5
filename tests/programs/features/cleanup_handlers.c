// Cleanup handlers run last in, first out: at pthread_exit, at a cancellation and at pthread_cleanup_pop.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <string.h>

static sem_t never, ready;

static void note(void *place) {
    char **end = place;
    **end = (*end)[-1] == '1' ? '2' : '1';
    (*end)++;
}

static void note_end(void *place) {
    char **end = place;
    *(*end)++ = 'e';
}

static void *leave(void *end) {
    pthread_cleanup_push(note_end, end);
    pthread_cleanup_push(note, end);
    pthread_cleanup_push(note, end);
    pthread_exit(end);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *wait_to_be_cancelled(void *end) {
    pthread_cleanup_push(note_end, end);
    pthread_cleanup_push(note, end);
    sem_post(&ready);
    sem_wait(&never);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *return_normally(void *end) {
    pthread_cleanup_push(note_end, end);
    pthread_cleanup_push(note, end);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(1);
    return end;
}

// Runs the body and checks what its handlers have noted.
static void check(void *(*body)(void *), int cancel, const char *expected) {
    char notes[8] = "-";
    char *end = &notes[1];
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, body, &end);
    if (cancel) {
        sem_wait(&ready);
        pthread_cancel(thread);
    }
    pthread_join(thread, &result);
    assert(result == (cancel ? PTHREAD_CANCELED : (void *)&end));
    assert(strcmp(notes, expected) == 0);
}

int main(void) {
    sem_init(&never, 0, 0);
    sem_init(&ready, 0, 0);
    check(leave, 0, "-12e");
    check(wait_to_be_cancelled, 1, "-1e");
    check(return_normally, 0, "-e");
    return 0;
}
