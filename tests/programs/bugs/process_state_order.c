// Threads change what the process has once: who comes first gets the lower key, or finds the old handler, and its exit function runs last.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int kind;
static int last;
static pthread_key_t keys[2];
static void (*old[2])(int);

static void one(int number) { (void)number; }
static void other(int number) { (void)number; }
static void (*const handlers[2])(int) = {one, other};

static void note(int status, void *number) {
    (void)status;
    last = (int)(long)number;
}
static void note_first(void) { note(0, (void *)0); }
static void note_second(void) { note(0, (void *)1); }

static void *work(void *argument) {
    long me = (long)argument;
    switch (kind) {
    case 0:
        pthread_key_create(&keys[me], NULL);
        break;
    case 1:
        old[me] = signal(SIGUSR1, handlers[me]);
        break;
    case 2:
        on_exit(note, argument);
        break;
    default:
        at_quick_exit(me ? note_second : note_first);
    }
    return NULL;
}

static void look(int status, void *unused) {
    (void)status, (void)unused;
    assert(last == 0);
    _exit(0);
}
static void look_quickly(void) { look(0, NULL); }

int main(int count, char **arguments) {
    (void)count;
    kind = atoi(arguments[1]);
    on_exit(look, NULL);
    at_quick_exit(look_quickly);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    if (kind == 0) assert(keys[0] < keys[1]);
    if (kind == 1) assert(old[0] == SIG_DFL);
    if (kind == 3) quick_exit(0);
    return 0;
}
