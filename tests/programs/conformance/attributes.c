// Attributes of threads and of the process: names, processors, scheduling, options.
#define _GNU_SOURCE
#include "conformance.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
    char name[16] = "";
    SHOW(pthread_setname_np(pthread_self(), "conformance"));
    SHOW(pthread_setname_np(pthread_self(), "a name that is too long"));
    SHOW(pthread_getname_np(pthread_self(), name, sizeof name));
    line("%s", name);
    SHOW(pthread_getname_np(pthread_self(), name, 3));
    SHOW(prctl(PR_SET_NAME, "other"));
    SHOW(prctl(PR_GET_NAME, name));
    line("%s", name);
    cpu_set_t all, one, none_of_them;
    CPU_ZERO(&none_of_them);
    SHOW(sched_getaffinity(0, sizeof all, &all));
    HOLDS(CPU_COUNT(&all) > 0);
    SHOW(sched_getaffinity(0, 1, &all));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    }
    SHOW(sched_setaffinity(0, sizeof one, &one));
    SHOW(pthread_getaffinity_np(pthread_self(), sizeof all, &all));
    HOLDS(CPU_COUNT(&all) == 1);
    SHOW(pthread_setaffinity_np(pthread_self(), sizeof one, &one));
    SHOW(sched_setaffinity(0, sizeof none_of_them, &none_of_them));
    struct sched_param parameters = {0};
    int policy;
    SHOW(sched_getscheduler(0));
    SHOW(sched_getscheduler(-1));
    SHOW(sched_getparam(0, &parameters));
    line("%d", parameters.sched_priority);
    SHOW(sched_setscheduler(0, SCHED_BATCH, &parameters));
    SHOW(sched_getscheduler(0));
    SHOW(sched_setscheduler(0, 77, &parameters));
    SHOW(sched_setparam(0, &parameters));
    SHOW(pthread_getschedparam(pthread_self(), &policy, &parameters));
    line("%d %d", policy, parameters.sched_priority);
    SHOW(pthread_setschedparam(pthread_self(), SCHED_OTHER, &parameters));
    SHOW(pthread_setschedprio(pthread_self(), 0));
    SHOW(pthread_setschedprio(pthread_self(), 77));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(setpriority(PRIO_PROCESS, 0, 3));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(setpriority(77, 0, 3));
    SHOW(nice(2));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(prctl(PR_SET_DUMPABLE, 0));
    SHOW(prctl(PR_GET_DUMPABLE));
    SHOW(prctl(PR_SET_DUMPABLE, 1));
    SHOW(prctl(PR_SET_DUMPABLE, 77));
    SHOW(prctl(PR_SET_PDEATHSIG, SIGUSR1));
    SHOW(prctl(PR_SET_PDEATHSIG, 0));
    SHOW(prctl(7777));
    SHOW(mlockall(0));
    SHOW(munlockall());
    return finish(argc, argv);
}
