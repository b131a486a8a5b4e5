// A recursion that makes threads: each call lets a new thread do half of the work.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct range {
    int from, to, sum;
};

static void *sum(void *arg) {
    struct range *range = arg;
    if (range->to - range->from == 1) {
        range->sum = range->from;
        return NULL;
    }
    int middle = (range->from + range->to) / 2;
    struct range left = {.from = range->from, .to = middle}, right = {.from = middle, .to = range->to};
    pthread_t thread;
    pthread_create(&thread, NULL, sum, &left);
    sum(&right);
    pthread_join(thread, NULL);
    range->sum = left.sum + right.sum;
    return NULL;
}

int main(void) {
    struct range all = {.from = 0, .to = 8};
    sum(&all);
    assert(all.sum == 28);
    return 0;
}
