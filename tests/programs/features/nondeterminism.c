// Prints what differs from run to run of an ordinary program: under Ordain it is the same in every execution.

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    uint64_t random;
    struct timespec now;
    assert(getrandom(&random, sizeof random, 0) == sizeof random);
    printf("random %llx\n", (unsigned long long)random);
    const uint64_t *seed = (const uint64_t *)getauxval(AT_RANDOM);
    printf("seed %llx %llx, %d\n", (unsigned long long)seed[0], (unsigned long long)seed[1], rand());
    printf("free pages %ld of %ld\n", sysconf(_SC_AVPHYS_PAGES), sysconf(_SC_PHYS_PAGES));
    clock_gettime(CLOCK_REALTIME, &now);
    printf("clock %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("monotonic clock %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
    printf("time stamp counter %llu\n", (unsigned long long)__rdtsc());
    printf("process %ld, thread %ld\n", (long)getpid(), (long)gettid());
    void *memory = malloc(1);
    printf("heap %p, stack %p, code %p\n", memory, (void *)&now, (void *)main);
    free(memory);

    // Two orders, so that there is more than one execution to compare.
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    return 0;
}
