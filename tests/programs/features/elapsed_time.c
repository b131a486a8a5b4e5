// Fails if it takes longer than five seconds by any clock. Each execution really takes a while, and all of them together take longer
// than that; but their time begins anew.

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { CLOCKS = 6, ALL = CLOCKS + 8, LIMIT = 5 };

static const clockid_t clocks[CLOCKS] = {CLOCK_REALTIME,           CLOCK_MONOTONIC,         CLOCK_BOOTTIME,
                                         CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

// Lets real time pass, in a way that no library sees.
static void take_a_while(void) {
    struct timespec span = {0, 60 * 1000 * 1000};
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_nanosleep), "D"(&span), "S"(0) : "rcx", "r11", "memory");
    assert(result == 0);
}

// Seconds on every clock there is.
static void look(double *at) {
    struct timespec now;
    struct timeval day;
    struct rusage usage;
    struct sysinfo system;
    for (int i = 0; i < CLOCKS; i++) {
        assert(clock_gettime(clocks[i], &now) == 0);
        at[i] = now.tv_sec + now.tv_nsec / 1e9;
    }
    assert(gettimeofday(&day, NULL) == 0);
    at[CLOCKS] = day.tv_sec + day.tv_usec / 1e6;
    at[CLOCKS + 1] = time(NULL);
    at[CLOCKS + 2] = (double)clock() / CLOCKS_PER_SEC;
    at[CLOCKS + 3] = (double)times(&(struct tms){0}) / sysconf(_SC_CLK_TCK);
    assert(getrusage(RUSAGE_SELF, &usage) == 0);
    at[CLOCKS + 4] = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
    assert(sysinfo(&system) == 0);
    at[CLOCKS + 5] = system.uptime;
    assert(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0);
    at[CLOCKS + 6] = now.tv_sec + now.tv_nsec / 1e9;
    at[CLOCKS + 7] = __rdtsc() / 1e9;
}

static void *work(void *unused) {
    (void)unused;
    struct timespec tick = {0, 1000};
    assert(syscall(SYS_nanosleep, &tick, NULL) == 0);
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    double began[ALL], ended[ALL];
    pthread_t threads[4];
    look(began);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
    take_a_while();
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    look(ended);
    for (int i = 0; i < ALL; i++) assert(ended[i] - began[i] >= 0 && ended[i] - began[i] < LIMIT);
    assert(count == 5);
    return 0;
}
