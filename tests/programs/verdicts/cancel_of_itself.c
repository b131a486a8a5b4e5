// The only thread has asked that it ends itself, and would in the call that prints.
#include <pthread.h>
#include <stdio.h>

int main(void) {
    pthread_cancel(pthread_self());
    fprintf(stderr, "not reached\n");
    return 0;
}
