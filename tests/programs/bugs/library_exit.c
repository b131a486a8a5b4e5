// Code of a library that runs at exit fails if threads have ended in one of two orders. The argument says which code.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

void exits_note(int who);
void exits_watch(const char *by);

static void *note(void *who) {
    exits_note((int)(intptr_t)who);
    return NULL;
}

int main(int argc, char **argv) {
    exits_watch(argc > 1 ? argv[1] : "destructor");
    pthread_t first, second;
    pthread_create(&first, NULL, note, (void *)1);
    pthread_create(&second, NULL, note, (void *)2);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
