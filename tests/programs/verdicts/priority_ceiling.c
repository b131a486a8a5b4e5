// A mutex with a priority ceiling.
#include <pthread.h>

int main(void) {
    pthread_mutex_t m;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
    pthread_mutex_init(&m, &attributes);
    return 0;
}
