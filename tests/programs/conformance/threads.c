// Threads, mutexes, condition variables, read-write locks, barriers, spin locks, initialisation, semaphores, C11.
//
// Not called: __libc_start_main runs main; __cxa_guard_acquire, __cxa_guard_release, __cxa_guard_abort and
// __cxa_thread_atexit_impl are called by C++ code, see the programs in C++.
#define _GNU_SOURCE
#include "conformance.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

int pthread_mutex_consistent_np(pthread_mutex_t *);
int pthread_yield(void);
int __pthread_key_create(pthread_key_t *, void (*)(void *));

static sem_t gate, back;
static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t robust;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t preferring = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_barrier_t barrier;

static void *number(void *argument) { return argument; }
static void *leaves(void *argument) { pthread_exit((char *)argument + 1); }
static void *waits(void *argument) { return sem_wait(&gate), argument; }
static void *dies_with_lock(void *argument) { return pthread_mutex_lock(&robust), argument; }
static void *tries(void *argument) {
    SHOW(pthread_mutex_trylock(&normal));
    SHOW(pthread_mutex_timedlock(&normal, &past));
    SHOW(pthread_mutex_timedlock(&normal, &negative));
    SHOW(pthread_mutex_timedlock(&normal, &too_long));
    SHOW(pthread_mutex_timedlock(&normal, &too_short));
    SHOW(pthread_mutex_clocklock(&normal, CLOCK_MONOTONIC, &past));
    SHOW(pthread_mutex_clocklock(&normal, CLOCK_MONOTONIC, &too_long));
    SHOW(pthread_mutex_clocklock(&normal, 77, &past));
    SHOW(pthread_mutex_timedlock(&recursive, &too_long));
    SHOW(pthread_mutex_timedlock(&checking, &too_long));
    SHOW(pthread_mutex_trylock(&recursive));
    SHOW(pthread_mutex_trylock(&checking));
    SHOW(pthread_rwlock_tryrdlock(&rwlock));
    SHOW(pthread_rwlock_trywrlock(&rwlock));
    SHOW(pthread_rwlock_timedrdlock(&rwlock, &past));
    SHOW(pthread_rwlock_timedrdlock(&rwlock, &too_long));
    SHOW(pthread_rwlock_clockrdlock(&rwlock, CLOCK_REALTIME, &negative));
    SHOW(pthread_rwlock_clockrdlock(&rwlock, 77, &past));
    SHOW(pthread_rwlock_timedwrlock(&rwlock, &past));
    SHOW(pthread_rwlock_timedwrlock(&rwlock, &too_short));
    SHOW(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past));
    SHOW(pthread_rwlock_clockwrlock(&rwlock, 77, &past));
    return argument;
}
static void *tries_read(void *argument) {
    SHOW(pthread_rwlock_tryrdlock(&preferring));
    SHOW(pthread_rwlock_unlock(&preferring));
    SHOW(pthread_rwlock_trywrlock(&preferring));
    SHOW(pthread_rwlock_timedwrlock(&preferring, &past));
    SHOW(pthread_rwlock_tryrdlock(&preferring));
    SHOW(pthread_rwlock_unlock(&preferring));
    return argument;
}
static void *arrives(void *argument) { return (void *)(intptr_t)(pthread_barrier_wait(&barrier) != 0); }
static int woken;
static void *wakes(void *argument) {
    pthread_mutex_lock(&normal);
    woken = 1;
    SHOW(pthread_cond_signal(&cond));
    SHOW(pthread_cond_broadcast(&cond));
    pthread_mutex_unlock(&normal);
    return argument;
}
static void *cancelled(void *argument) {
    int old;
    SHOW(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    line("%d", old);
    sem_post(&back);
    sem_wait(&gate);
    SHOW(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    line("%d", old);
    SHOW(pthread_setcancelstate(7, &old));
    SHOW(pthread_setcanceltype(7, &old));
    SHOW(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    line("%d", old);
    pthread_testcancel();
    line("not reached");
    return argument;
}
// With pthread_cleanup_push_defer_np: __pthread_register_cancel_defer and __pthread_unregister_cancel_restore.
static void *defer(void *argument) {
    int old;
    SHOW(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    pthread_cleanup_push_defer_np(free, NULL);
    SHOW(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    line("%d", old);
    pthread_cleanup_pop_restore_np(0);
    SHOW(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    line("%d", old);
    return argument;
}
static int initialised;
static void initialise(void) { initialised++; }
static int c11_number(void *argument) { return (int)(intptr_t)argument; }
static int c11_leaves(void *argument) { thrd_exit((int)(intptr_t)argument + 1); }
static int destroyed;
static void destroy(void *argument) { destroyed += (int)(intptr_t)argument; }
static pthread_key_t key, other;
static tss_t c11_key;
static void *specific(void *argument) {
    pthread_setspecific(key, (void *)1);
    pthread_setspecific(other, (void *)10);
    tss_set(c11_key, (void *)100);
    return argument;
}

static void threads(void) {
    pthread_t deferring;
    pthread_create(&deferring, NULL, defer, NULL);
    SHOW(pthread_join(deferring, NULL));
    SHOW(pthread_setconcurrency(-1));
    SHOW(pthread_setconcurrency(3));
    SHOW(pthread_getconcurrency());
    pthread_t thread;
    void *result;
    SHOW(pthread_create(&thread, NULL, number, (void *)5));
    SHOW(pthread_join(thread, &result));
    line("%ld", (long)result);
    SHOW(pthread_create(&thread, NULL, leaves, (void *)5));
    SHOW(pthread_join(thread, &result));
    line("%ld", (long)result);
    sem_init(&gate, 0, 0);
    SHOW(pthread_create(&thread, NULL, waits, (void *)6));
    SHOW(pthread_tryjoin_np(thread, &result));
    SHOW(pthread_timedjoin_np(thread, &result, &past));
    SHOW(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &past));
    SHOW(pthread_clockjoin_np(thread, &result, 77, &past));
    sem_post(&gate);
    SHOW(pthread_timedjoin_np(thread, &result, NULL));
    line("%ld", (long)result);
    SHOW(pthread_join(pthread_self(), NULL));
    pthread_attr_t attributes;
    int detached;
    void *stack;
    size_t size;
    SHOW(pthread_getattr_np(pthread_self(), &attributes));
    SHOW(pthread_attr_getdetachstate(&attributes, &detached));
    line("%d", detached);
    SHOW(pthread_attr_getstack(&attributes, &stack, &size));
    HOLDS((char *)&size >= (char *)stack && (char *)&size < (char *)stack + size);
    SHOW(pthread_attr_destroy(&attributes));
    sem_init(&back, 0, 0);
    pthread_create(&thread, NULL, cancelled, NULL);
    sem_wait(&back);
    SHOW(pthread_cancel(thread));
    SHOW(pthread_cancel(thread));
    sem_post(&gate);
    SHOW(pthread_join(thread, &result));
    HOLDS(result == PTHREAD_CANCELED);
    SHOW(pthread_key_create(&key, destroy));
    SHOW(__pthread_key_create(&other, destroy));
    SHOW(tss_create(&c11_key, destroy));
    pthread_create(&thread, NULL, specific, NULL);
    pthread_join(thread, NULL);
    line("%d", destroyed);
    SHOW(pthread_key_delete(key));
    SHOW(pthread_key_delete(key));
    SHOW(pthread_key_delete(77777));
    tss_delete(c11_key);
    SHOW(pthread_create(&thread, NULL, number, NULL));
    SHOW(pthread_detach(thread));
    SHOW(sched_yield());
    SHOW(pthread_yield());
    thrd_yield();
}

static void mutexes(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    SHOW(pthread_mutex_timedlock(&normal, &too_long));
    SHOW(pthread_mutex_trylock(&normal));
    SHOW(pthread_mutex_timedlock(&checking, &too_long));
    SHOW(pthread_mutex_timedlock(&checking, &past));
    SHOW(pthread_mutex_timedlock(&checking, &too_long));
    SHOW(pthread_mutex_clocklock(&checking, 77, &past));
    SHOW(pthread_mutex_lock(&checking));
    SHOW(pthread_mutex_trylock(&checking));
    SHOW(pthread_mutex_lock(&recursive));
    SHOW(pthread_mutex_lock(&recursive));
    SHOW(pthread_mutex_trylock(&recursive));
    SHOW(pthread_mutex_timedlock(&recursive, &too_long));
    SHOW(pthread_mutex_lock(&adaptive));
    SHOW(pthread_mutex_trylock(&adaptive));
    SHOW(pthread_rwlock_wrlock(&rwlock));
    pthread_create(&thread, NULL, tries, NULL);
    pthread_join(thread, NULL);
    SHOW(pthread_rwlock_unlock(&rwlock));
    for (int i = 0; i < 4; i++) SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_unlock(&checking));
    SHOW(pthread_mutex_unlock(&normal));
    SHOW(pthread_mutex_unlock(&adaptive));
    SHOW(pthread_mutex_destroy(&adaptive));
    SHOW(pthread_mutexattr_init(&attributes));
    SHOW(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    SHOW(pthread_mutex_init(&robust, &attributes));
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, dies_with_lock, NULL);
        pthread_join(thread, NULL);
        SHOW(i ? pthread_mutex_lock(&robust) : pthread_mutex_trylock(&robust));
        SHOW(i ? pthread_mutex_consistent_np(&robust) : pthread_mutex_consistent(&robust));
        SHOW(pthread_mutex_unlock(&robust));
    }
    pthread_create(&thread, NULL, dies_with_lock, NULL);
    pthread_join(thread, NULL);
    SHOW(pthread_mutex_timedlock(&robust, &past));
    SHOW(pthread_mutex_unlock(&robust));
    SHOW(pthread_mutex_lock(&robust));
    SHOW(pthread_mutex_trylock(&robust));
}

static void *tries_one(void *mutex) {
    SHOW(pthread_mutex_trylock(mutex));
    SHOW(pthread_mutex_timedlock(mutex, &past));
    return mutex;
}

static void *leaves_locked(void *mutex) { return pthread_mutex_lock(mutex), mutex; }

// Robust mutexes and those whose owners inherit priorities, of all types.
static void protocols(void) {
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    int ceiling = -1;
    for (int i = 0; i < 16; i++) {
        int inherits = i & 1, is_robust = i & 2, type = types[i >> 2], again = type == 1 || type == 2;
        SHOW(pthread_mutexattr_init(&attributes));
        SHOW(pthread_mutexattr_setprotocol(&attributes, inherits ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE));
        SHOW(pthread_mutexattr_setrobust(&attributes, is_robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED));
        SHOW(pthread_mutexattr_settype(&attributes, type));
        SHOW(pthread_mutex_init(&mutex, &attributes));
        SHOW(pthread_mutex_getprioceiling(&mutex, &ceiling));
        SHOW(pthread_mutex_setprioceiling(&mutex, 3, &ceiling));
        SHOW(pthread_mutex_lock(&mutex));
        if (again) SHOW(pthread_mutex_lock(&mutex));
        SHOW(pthread_mutex_trylock(&mutex));
        pthread_create(&thread, NULL, tries_one, &mutex);
        pthread_join(thread, NULL);
        for (int n = type == PTHREAD_MUTEX_RECURSIVE ? 3 : 1; n > 0; n--) SHOW(pthread_mutex_unlock(&mutex));
        if (is_robust) {
            pthread_create(&thread, NULL, leaves_locked, &mutex);
            pthread_join(thread, NULL);
            SHOW(pthread_mutex_trylock(&mutex));
            SHOW(pthread_mutex_consistent(&mutex));
            SHOW(pthread_mutex_unlock(&mutex));
            pthread_create(&thread, NULL, leaves_locked, &mutex);
            pthread_join(thread, NULL);
            SHOW(pthread_mutex_lock(&mutex));
            SHOW(pthread_mutex_unlock(&mutex));
            SHOW(pthread_mutex_lock(&mutex));
            SHOW(pthread_mutex_timedlock(&mutex, &past));
        } else {
            SHOW(pthread_mutex_destroy(&mutex));
        }
        SHOW(pthread_mutexattr_destroy(&attributes));
    }
    HOLDS(ceiling == -1);
}

static void conds(void) {
    pthread_t thread;
    pthread_condattr_t attributes;
    pthread_cond_t monotonic;
    SHOW(pthread_condattr_init(&attributes));
    SHOW(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    SHOW(pthread_cond_init(&monotonic, &attributes));
    SHOW(pthread_mutex_lock(&normal));
    SHOW(pthread_cond_timedwait(&monotonic, &normal, &past));
    SHOW(pthread_cond_timedwait(&cond, &normal, &past));
    SHOW(pthread_cond_timedwait(&cond, &normal, &negative));
    SHOW(pthread_cond_timedwait(&cond, &normal, &too_long));
    SHOW(pthread_cond_timedwait(&cond, &normal, &too_short));
    SHOW(pthread_cond_clockwait(&cond, &normal, CLOCK_REALTIME, &past));
    SHOW(pthread_cond_clockwait(&cond, &normal, 77, &past));
    pthread_create(&thread, NULL, wakes, NULL);
    while (!woken) pthread_cond_wait(&cond, &normal);
    SHOW(pthread_mutex_unlock(&normal));
    pthread_join(thread, NULL);
    SHOW(pthread_cond_signal(&cond));
    SHOW(pthread_cond_broadcast(&cond));
    SHOW(pthread_cond_destroy(&monotonic));
    SHOW(pthread_cond_destroy(&cond));
}

static void rwlocks(void) {
    pthread_t thread;
    SHOW(pthread_rwlock_timedwrlock(&rwlock, &too_long));
    SHOW(pthread_rwlock_timedrdlock(&rwlock, &too_short));
    SHOW(pthread_rwlock_wrlock(&rwlock));
    SHOW(pthread_rwlock_wrlock(&rwlock));
    SHOW(pthread_rwlock_rdlock(&rwlock));
    SHOW(pthread_rwlock_tryrdlock(&rwlock));
    SHOW(pthread_rwlock_trywrlock(&rwlock));
    SHOW(pthread_rwlock_timedrdlock(&rwlock, &past));
    SHOW(pthread_rwlock_timedwrlock(&rwlock, &past));
    SHOW(pthread_rwlock_timedrdlock(&rwlock, &too_long));
    SHOW(pthread_rwlock_unlock(&rwlock));
    SHOW(pthread_rwlock_rdlock(&rwlock));
    SHOW(pthread_rwlock_rdlock(&rwlock));
    SHOW(pthread_rwlock_tryrdlock(&rwlock));
    SHOW(pthread_rwlock_trywrlock(&rwlock));
    SHOW(pthread_rwlock_clockwrlock(&rwlock, CLOCK_REALTIME, &past));
    for (int i = 0; i < 3; i++) SHOW(pthread_rwlock_unlock(&rwlock));
    SHOW(pthread_rwlock_destroy(&rwlock));
    SHOW(pthread_rwlock_rdlock(&preferring));
    SHOW(pthread_rwlock_rdlock(&preferring));
    pthread_create(&thread, NULL, tries_read, NULL);
    pthread_join(thread, NULL);
    SHOW(pthread_rwlock_unlock(&preferring));
    SHOW(pthread_rwlock_unlock(&preferring));
    SHOW(pthread_rwlock_wrlock(&preferring));
    SHOW(pthread_rwlock_wrlock(&preferring));
    SHOW(pthread_rwlock_unlock(&preferring));
    pthread_rwlock_t lock;
    SHOW(pthread_rwlock_init(&lock, NULL));
    SHOW(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &past));
    SHOW(pthread_rwlock_unlock(&lock));
}

static void others(void) {
    pthread_t thread;
    void *serial;
    SHOW(pthread_barrier_init(&barrier, NULL, 0));
    SHOW(pthread_barrier_init(&barrier, NULL, 0x80000000u));
    SHOW(pthread_barrier_init(&barrier, NULL, 2));
    pthread_create(&thread, NULL, arrives, NULL);
    int own = pthread_barrier_wait(&barrier) != 0;
    pthread_join(thread, &serial);
    HOLDS(own + (int)(intptr_t)serial == 1);
    SHOW(pthread_barrier_destroy(&barrier));
    SHOW(pthread_barrier_init(&barrier, NULL, 1));
    SHOW(pthread_barrier_wait(&barrier));
    pthread_spinlock_t spin;
    SHOW(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    SHOW(pthread_spin_lock(&spin));
    SHOW(pthread_spin_trylock(&spin));
    SHOW(pthread_spin_unlock(&spin));
    SHOW(pthread_spin_trylock(&spin));
    SHOW(pthread_spin_unlock(&spin));
    SHOW(pthread_spin_destroy(&spin));
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static once_flag flag = ONCE_FLAG_INIT;
    SHOW(pthread_once(&once, initialise));
    SHOW(pthread_once(&once, initialise));
    call_once(&flag, initialise);
    call_once(&flag, initialise);
    line("%d", initialised);
}

static void semaphores(void) {
    sem_t semaphore;
    int value;
    SHOW(sem_init(&semaphore, 0, 0x80000000u));
    SHOW(sem_init(&semaphore, 0, 2));
    SHOW(sem_getvalue(&semaphore, &value));
    line("%d", value);
    SHOW(sem_wait(&semaphore));
    SHOW(sem_timedwait(&semaphore, &too_long));
    SHOW(sem_timedwait(&semaphore, &past));
    SHOW(sem_timedwait(&semaphore, &past));
    SHOW(sem_timedwait(&semaphore, &negative));
    SHOW(sem_timedwait(&semaphore, &too_short));
    SHOW(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
    SHOW(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &too_long));
    SHOW(sem_clockwait(&semaphore, 77, &past));
    SHOW(sem_trywait(&semaphore));
    SHOW(sem_post(&semaphore));
    SHOW(sem_clockwait(&semaphore, CLOCK_REALTIME, &past));
    SHOW(sem_destroy(&semaphore));
    SHOW(sem_unlink("/ordain-conformance"));
    sem_t *named = sem_open("/ordain-conformance", 0);
    HOLDS(named == SEM_FAILED && errno == ENOENT);
    named = sem_open("/ordain-conformance", O_CREAT | O_EXCL, 0600, 1);
    HOLDS(named != SEM_FAILED);
    HOLDS(sem_open("/ordain-conformance", O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED && errno == EEXIST);
    HOLDS(sem_open("/ordain-conformance", O_CREAT, 0600, 7) == named);
    SHOW(sem_trywait(named));
    SHOW(sem_trywait(named));
    SHOW(sem_unlink("/ordain-conformance"));
    SHOW(sem_close(named));
}

static void c11(void) {
    thrd_t thread;
    int result;
    SHOW(thrd_create(&thread, c11_number, (void *)5) == thrd_success);
    SHOW(thrd_join(thread, &result) == thrd_success);
    line("%d", result);
    thrd_create(&thread, c11_leaves, (void *)5);
    thrd_join(thread, &result);
    line("%d", result);
    thrd_create(&thread, c11_number, NULL);
    SHOW(thrd_detach(thread) == thrd_success);
    mtx_t plain, again;
    SHOW(mtx_init(&plain, mtx_timed));
    SHOW(mtx_init(&again, mtx_plain | mtx_recursive));
    SHOW(mtx_lock(&plain));
    SHOW(mtx_trylock(&plain));
    SHOW(mtx_timedlock(&plain, &past));
    SHOW(mtx_lock(&again));
    SHOW(mtx_trylock(&again));
    SHOW(mtx_unlock(&again));
    SHOW(mtx_unlock(&again));
    cnd_t wait;
    SHOW(cnd_init(&wait));
    SHOW(cnd_timedwait(&wait, &plain, &past));
    SHOW(cnd_timedwait(&wait, &plain, &too_long));
    SHOW(cnd_signal(&wait));
    SHOW(cnd_broadcast(&wait));
    HOLDS((void *)cnd_wait != NULL);
    cnd_destroy(&wait);
    SHOW(mtx_unlock(&plain));
    mtx_destroy(&plain);
    mtx_destroy(&again);
    HOLDS(thrd_sleep(&none, NULL) == 0);
    SHOW(thrd_sleep(&too_long, NULL));
}

int main(int argc, char **argv) {
    threads();
    mutexes();
    protocols();
    conds();
    rwlocks();
    others();
    semaphores();
    c11();
    return finish(argc, argv);
}
