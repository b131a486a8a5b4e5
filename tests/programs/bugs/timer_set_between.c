// A timer that was not set may be set and have expired when it is read.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int timer;

static void *set(void *unused) {
    struct itimerspec soon = {.it_value.tv_nsec = 5000000};
    timerfd_settime(timer, 0, &soon, NULL);
    return unused;
}

static void *look(void *unused) {
    struct itimerspec left;
    uint64_t count;
    timerfd_gettime(timer, &left);
    int is_set = left.it_value.tv_nsec != 0;
    int has_expired = read(timer, &count, sizeof count) > 0;
    assert(is_set || !has_expired);
    return unused;
}

int main(void) {
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    pthread_t a, b;
    pthread_create(&a, NULL, set, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
