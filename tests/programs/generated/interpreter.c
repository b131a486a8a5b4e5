// Runs small programs that are given as arguments, so that thousands of them need one compilation.
//
//   interpreter DIRECTORY BODY BODY ...
//
// Each body is the work of one thread, the first of main: words with up to two digits, such as `lock.0` or `wait.0.1`. Each word
// is one call of the C library; its result is written to standard output, with the number of the body, before the next word. So
// the lines of one thread tell everything that it saw. With the variable DELAY, words come after random pauses.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <mqueue.h>
#include <time.h>
#include <unistd.h>

enum { OBJECTS = 2, BODIES = 8 };

static int bodies;
static char **texts;
static pthread_t threads[BODIES];
static unsigned delay;

static __thread int me, begun;
static volatile int joined[BODIES];
static __thread unsigned dice;
/* How often this thread holds each lock: mutexes, read-write locks, spin locks, streams. */
static __thread int held[4][4];

static pthread_mutex_t mutex[4]; /* normal, recursive, error checking, robust */
static pthread_cond_t cond[OBJECTS];
static pthread_rwlock_t rwlock[OBJECTS]; /* the second one prefers writers */
static pthread_spinlock_t spin[OBJECTS];
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore[OBJECTS]; /* 0 and 1 at first */
static int counter[OBJECTS];
static pthread_mutex_t guard[OBJECTS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int pipes[OBJECTS][2], pairs[2], events[OBJECTS], poller;
static int queue = -1, counters = -1;
static mqd_t posted = -1;
static FILE *streams[OBJECTS];
static pthread_key_t key;

/* Writes what a word came to. One call of write, so that lines stay whole. */
static void tell(const char *word, long result) {
    char line[80];
    int kept = errno;
    int length = snprintf(line, sizeof line, "%d %s %ld\n", me, word, result);
    for (int at = 0; at < length;) {
        ssize_t n = write(1, line + at, length - at);
        if (n > 0) at += n;
    }
    errno = kept;
}

static void on_signal(int number) {
    /* It may come before the thread has noted which one it is. */
    for (int i = bodies; !begun && !me && --i > 0;)
        if (!joined[i] && pthread_equal(threads[i], pthread_self())) me = i;
    tell("handler", number == SIGUSR1 ? 1 : number == SIGRTMIN ? 2 : 3);
}

static void once_done(void) { tell("once-body", 0); }

/* Soon: natively long enough for others, under control at any moment. */
static struct timespec soon(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += 2000000;
    if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
    return t;
}

static long failed(long result) { return result < 0 ? -errno : result; }

/* Descriptors that open gave to this thread. */
static __thread int opened = -1;

static void path_of(char *out, int which) { sprintf(out, "f%d", which); }

static void release(void *unused) {
    (void)unused;
    for (int i = 0; i < 4; i++)
        while (held[0][i] > 0) held[0][i]--, pthread_mutex_unlock(&mutex[i]);
    for (int i = 0; i < OBJECTS; i++)
        while (held[1][i] > 0) held[1][i]--, pthread_rwlock_unlock(&rwlock[i]);
    for (int i = 0; i < OBJECTS; i++)
        while (held[2][i] > 0) held[2][i]--, pthread_spin_unlock(&spin[i]);
    for (int i = 0; i < OBJECTS; i++)
        while (held[3][i] > 0) held[3][i]--, funlockfile(streams[i]);
}

static void *body(void *which);

static long took(int kind, int which, int result) {
    if (result == 0 || result == EOWNERDEAD) held[kind][which]++;
    if (result == EOWNERDEAD) pthread_mutex_consistent(&mutex[which]);
    return result;
}

/* Words. */
static long w_lock(int a, int b) { return took(0, a, pthread_mutex_lock(&mutex[a])); }
static long w_trylock(int a, int b) { return took(0, a, pthread_mutex_trylock(&mutex[a])); }
static long w_timedlock(int a, int b) {
    struct timespec t = soon(CLOCK_REALTIME);
    return took(0, a, pthread_mutex_timedlock(&mutex[a], &t));
}
static long w_unlock(int a, int b) {
    if (held[0][a] == 0) return -1;
    held[0][a]--;
    return pthread_mutex_unlock(&mutex[a]);
}
static long w_wait(int a, int b) {
    if (held[0][b] != 1) return -1;
    return pthread_cond_wait(&cond[a], &mutex[b]);
}
static long w_timedwait(int a, int b) {
    if (held[0][b] != 1) return -1;
    struct timespec t = soon(CLOCK_REALTIME);
    return pthread_cond_timedwait(&cond[a], &mutex[b], &t);
}
static long w_signal(int a, int b) { return pthread_cond_signal(&cond[a]); }
static long w_broadcast(int a, int b) { return pthread_cond_broadcast(&cond[a]); }
static long w_rdlock(int a, int b) { return held[1][a] ? -1 : took(1, a, pthread_rwlock_rdlock(&rwlock[a])); }
static long w_wrlock(int a, int b) { return held[1][a] ? -1 : took(1, a, pthread_rwlock_wrlock(&rwlock[a])); }
static long w_tryrdlock(int a, int b) { return took(1, a, pthread_rwlock_tryrdlock(&rwlock[a])); }
static long w_trywrlock(int a, int b) { return took(1, a, pthread_rwlock_trywrlock(&rwlock[a])); }
static long w_timedrdlock(int a, int b) {
    struct timespec t = soon(CLOCK_REALTIME);
    return held[1][a] ? -1 : took(1, a, pthread_rwlock_timedrdlock(&rwlock[a], &t));
}
static long w_timedwrlock(int a, int b) {
    struct timespec t = soon(CLOCK_REALTIME);
    return held[1][a] ? -1 : took(1, a, pthread_rwlock_timedwrlock(&rwlock[a], &t));
}
static long w_rwunlock(int a, int b) {
    if (held[1][a] == 0) return -1;
    held[1][a]--;
    return pthread_rwlock_unlock(&rwlock[a]);
}
static long w_spinlock(int a, int b) { return held[2][a] ? -1 : took(2, a, pthread_spin_lock(&spin[a])); }
static long w_spintrylock(int a, int b) { return took(2, a, pthread_spin_trylock(&spin[a])); }
static long w_spinunlock(int a, int b) {
    if (held[2][a] == 0) return -1;
    held[2][a]--;
    return pthread_spin_unlock(&spin[a]);
}
static long w_barrier(int a, int b) { return pthread_barrier_wait(&barrier); }
static long w_once(int a, int b) { return pthread_once(&once, once_done); }
static long w_semwait(int a, int b) { return failed(sem_wait(&semaphore[a])); }
static long w_semtrywait(int a, int b) { return failed(sem_trywait(&semaphore[a])); }
static long w_semtimedwait(int a, int b) {
    struct timespec t = soon(CLOCK_REALTIME);
    return failed(sem_timedwait(&semaphore[a], &t));
}
static long w_sempost(int a, int b) { return failed(sem_post(&semaphore[a])); }
static long w_semvalue(int a, int b) {
    int value = -1;
    sem_getvalue(&semaphore[a], &value);
    return value;
}
static long w_seminit(int a, int b) { return failed(sem_init(&semaphore[a], 0, a)); }
static long w_streamlock(int a, int b) {
    flockfile(streams[a]);
    return took(3, a, 0);
}
static long w_streamtry(int a, int b) { return took(3, a, ftrylockfile(streams[a])); }
static long w_streamunlock(int a, int b) {
    if (held[3][a] == 0) return -1;
    held[3][a]--;
    funlockfile(streams[a]);
    return 0;
}
static long w_print(int a, int b) { return fputs("a line\n", streams[a]) < 0; }
/* What that says of a key which was deleted is undefined. */
static long w_keyset(int a, int b) {
    pthread_setspecific(key, &key);
    return 0;
}
static long w_keydelete(int a, int b) {
    pthread_key_delete(key);
    return 0;
}
static void at_end(void *value) { tell("destructor", value == &key); }
static long w_tick(int a, int b) {
    pthread_mutex_lock(&guard[a]);
    long seen = counter[a]++;
    pthread_mutex_unlock(&guard[a]);
    return seen;
}
static long w_spawn(int a, int b) { return pthread_create(&threads[a], 0, body, (void *)(long)a); }
static long result_of(int error, void *result) { return error ? error : result == PTHREAD_CANCELED ? 1000 : 0; }
static long w_join(int a, int b) {
    void *result = 0;
    int error = pthread_join(threads[a], &result);
    if (!error) joined[a] = 1;
    return result_of(error, result);
}
/* Threads are joined once by those who made them, so what tries and fails must join after all. */
static long w_tryjoin(int a, int b) {
    void *result = 0;
    int error = pthread_tryjoin_np(threads[a], &result);
    if (!error) joined[a] = 1;
    tell("tryjoin", result_of(error, result));
    return error ? w_join(a, b) : 0;
}
static long w_timedjoin(int a, int b) {
    void *result = 0;
    struct timespec t = soon(CLOCK_REALTIME);
    int error = pthread_timedjoin_np(threads[a], &result, &t);
    if (!error) joined[a] = 1;
    tell("timedjoin", result_of(error, result));
    return error ? w_join(a, b) : 0;
}
static long w_cancel(int a, int b) { return pthread_cancel(threads[a]); }
static long w_cancelstate(int a, int b) {
    int old = 0;
    pthread_setcancelstate(a ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &old);
    return old;
}
static long w_testcancel(int a, int b) { return pthread_testcancel(), 0; }
static int number_of(int which) { return which == 0 ? SIGUSR1 : which == 1 ? SIGRTMIN : SIGUSR2; }
static long w_kill(int a, int b) { return failed(kill(getpid(), number_of(a))); }
static long w_threadkill(int a, int b) { return pthread_kill(threads[a], number_of(b)); }
static long w_sigqueue(int a, int b) { return failed(sigqueue(getpid(), number_of(a), (union sigval){b})); }
static long w_raise(int a, int b) { return raise(number_of(a)); }
static sigset_t set_of(int which) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number_of(which));
    return set;
}
static long w_block(int a, int b) {
    sigset_t set = set_of(a);
    return pthread_sigmask(SIG_BLOCK, &set, 0);
}
static long w_unblock(int a, int b) {
    sigset_t set = set_of(a);
    return pthread_sigmask(SIG_UNBLOCK, &set, 0);
}
static long w_sigwait(int a, int b) {
    sigset_t set = set_of(a);
    siginfo_t info = {0};
    long got = failed(sigwaitinfo(&set, &info));
    return got < 0 ? got : info.si_code == SI_QUEUE ? 100 + info.si_value.sival_int : 1;
}
static long w_sigtimedwait(int a, int b) {
    sigset_t set = set_of(a);
    struct timespec t = {0, 2000000};
    return failed(sigtimedwait(&set, 0, &t)) > 0 ? 1 : -errno;
}
static long w_sigpending(int a, int b) {
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, number_of(a));
}
static long w_sleep(int a, int b) {
    struct timespec t = {0, 1000000};
    return failed(nanosleep(&t, 0));
}
static long w_yield(int a, int b) { return sched_yield(); }
static long one_byte(long n, char c) { return n < 0 ? -errno : n == 0 ? 0 : c; }
static long w_read(int a, int b) {
    char c = 0;
    long n = read(pipes[a][0], &c, 1);
    return one_byte(n, c);
}
static long w_write(int a, int b) {
    char c = 'A' + me;
    return failed(write(pipes[a][1], &c, 1));
}
static long w_closewrite(int a, int b) { return failed(close(pipes[a][1])); }
static long w_pollread(int a, int b) {
    struct pollfd p = {pipes[a][0], POLLIN, 0};
    long n = poll(&p, 1, b ? 2 : 0);
    return n < 0 ? -errno : n ? p.revents : 0;
}
static long w_select(int a, int b) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipes[0][0], &set);
    FD_SET(events[0], &set);
    struct timeval t = {0, 2000};
    long n = select(pipes[0][0] > events[0] ? pipes[0][0] + 1 : events[0] + 1, &set, 0, 0, &t);
    return n < 0 ? -errno : (FD_ISSET(pipes[0][0], &set) && n) + 2 * (FD_ISSET(events[0], &set) && n);
}
static long w_send(int a, int b) {
    char c = 'a' + me;
    return failed(send(pairs[a], &c, 1, MSG_NOSIGNAL));
}
static long w_recv(int a, int b) {
    char c = 0;
    long n = recv(pairs[a], &c, 1, b ? MSG_DONTWAIT : 0);
    return one_byte(n, c);
}
static long w_shutdown(int a, int b) { return failed(shutdown(pairs[a], SHUT_WR)); }
static long w_eventadd(int a, int b) { return failed(eventfd_write(events[a], 1 + b)); }
static long w_eventtake(int a, int b) {
    eventfd_t value = 0;
    return eventfd_read(events[a], &value) < 0 ? -errno : (long)value;
}
static long w_epoll(int a, int b) {
    struct epoll_event e[2];
    long n = epoll_wait(poller, e, 2, a ? 2 : 0);
    return n < 0 ? -errno : n == 0 ? 0 : n == 1 ? e[0].data.u32 : 10 * e[0].data.u32 + e[1].data.u32;
}
static long w_create(int a, int b) {
    char path[8];
    path_of(path, a);
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0) return -errno;
    close(fd);
    return 0;
}
static long w_unlink(int a, int b) {
    char path[8];
    path_of(path, a);
    return failed(unlink(path));
}
static long w_rename(int a, int b) {
    char from[8], to[8];
    path_of(from, a), path_of(to, b);
    return failed(rename(from, to));
}
static long w_access(int a, int b) {
    char path[8];
    path_of(path, a);
    return failed(access(path, F_OK));
}
static long w_size(int a, int b) {
    char path[8];
    struct stat s;
    path_of(path, a);
    return stat(path, &s) < 0 ? -errno : (long)s.st_size;
}
static long w_append(int a, int b) {
    char path[8];
    path_of(path, a);
    int fd = open(path, O_WRONLY | O_APPEND);
    if (fd < 0) return -errno;
    long n = failed(write(fd, "x", 1));
    close(fd);
    return n;
}
static long w_mkdir(int a, int b) { return failed(mkdir("d", 0700)); }
static long w_rmdir(int a, int b) { return failed(rmdir("d")); }
static long w_open(int a, int b) {
    char path[8];
    path_of(path, a);
    if (opened >= 0) return -1;
    opened = open(path, O_RDWR | O_CREAT, 0600);
    return opened < 0 ? -errno : 0;
}
static long w_flock(int a, int b) { return opened < 0 ? -1 : failed(flock(opened, LOCK_EX | (a ? LOCK_NB : 0))); }
static long w_funlock(int a, int b) { return opened < 0 ? -1 : failed(flock(opened, LOCK_UN)); }
static long w_reclock(int a, int b) {
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    return opened < 0 ? -1 : failed(fcntl(opened, a ? F_OFD_SETLK : F_OFD_SETLKW, &l));
}
static long w_recunlock(int a, int b) {
    struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    return opened < 0 ? -1 : failed(fcntl(opened, F_OFD_SETLK, &l));
}
static long w_close(int a, int b) {
    if (opened < 0) return -1;
    long result = failed(close(opened));
    opened = -1;
    return result;
}
static long w_msgsnd(int a, int b) {
    struct { long type; char text[1]; } m = {1, {'A' + me}};
    return failed(msgsnd(queue, &m, 1, 0));
}
static long w_msgrcv(int a, int b) {
    struct { long type; char text[1]; } m = {0};
    long n = msgrcv(queue, &m, 1, 0, a ? IPC_NOWAIT : 0);
    return one_byte(n, m.text[0]);
}
static long w_semop(int a, int b) {
    struct sembuf op = {0, b ? 1 : -1, a ? IPC_NOWAIT : 0};
    return failed(semop(counters, &op, 1));
}
static long w_semopcount(int a, int b) { return failed(semctl(counters, 0, GETNCNT)); }
static long w_mqsend(int a, int b) {
    char c = 'A' + me;
    return failed(mq_send(posted, &c, 1, 0));
}
static long w_mqreceive(int a, int b) {
    char c = 0;
    struct timespec past = {0, 0};
    long n = a ? mq_timedreceive(posted, &c, 1, 0, &past) : mq_receive(posted, &c, 1, 0);
    return one_byte(n, c);
}
static long w_fork(int a, int b) {
    pid_t child = fork();
    if (child < 0) return -errno;
    if (child == 0) {
        if (a) pthread_mutex_lock(&mutex[0]), pthread_mutex_unlock(&mutex[0]);
        _exit(7);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static long w_abort(int a, int b) { abort(); }
static long w_exit(int a, int b) { exit(3); }
static long w_leave(int a, int b) { pthread_exit(0); }

#define WORD(name) {#name, w_##name}
static const struct { const char *name; long (*call)(int, int); } words[] = {
    WORD(lock), WORD(trylock), WORD(timedlock), WORD(unlock), WORD(wait), WORD(timedwait), WORD(signal), WORD(broadcast),
    WORD(rdlock), WORD(wrlock), WORD(tryrdlock), WORD(trywrlock), WORD(timedrdlock), WORD(timedwrlock), WORD(rwunlock),
    WORD(spinlock), WORD(spintrylock), WORD(spinunlock), WORD(barrier), WORD(once),
    WORD(semwait), WORD(semtrywait), WORD(semtimedwait), WORD(sempost), WORD(semvalue), WORD(seminit), WORD(tick),
    WORD(streamlock), WORD(streamtry), WORD(streamunlock), WORD(print), WORD(keyset), WORD(keydelete),
    WORD(spawn), WORD(join), WORD(tryjoin), WORD(timedjoin), WORD(cancel), WORD(cancelstate), WORD(testcancel),
    WORD(kill), WORD(threadkill), WORD(sigqueue), WORD(raise), WORD(block), WORD(unblock), WORD(sigwait), WORD(sigtimedwait),
    WORD(sigpending), WORD(sleep), WORD(yield),
    WORD(read), WORD(write), WORD(closewrite), WORD(pollread), WORD(select), WORD(send), WORD(recv), WORD(shutdown),
    WORD(eventadd), WORD(eventtake), WORD(epoll),
    WORD(create), WORD(unlink), WORD(rename), WORD(access), WORD(size), WORD(append), WORD(mkdir), WORD(rmdir), WORD(open),
    WORD(flock), WORD(funlock), WORD(reclock), WORD(recunlock), WORD(close),
    WORD(msgsnd), WORD(msgrcv), WORD(mqsend), WORD(mqreceive), WORD(semop), WORD(semopcount), WORD(fork), WORD(abort),
    WORD(exit), WORD(leave),
};

static void run(const char *text) {
    while (*text) {
        char word[32];
        int length = strcspn(text, " "), digits[2] = {0, 0}, many = 0;
        snprintf(word, sizeof word, "%.*s", length, text);
        text += length + (text[length] == ' ');
        for (char *dot = strchr(word, '.'); dot; dot = strchr(dot + 1, '.'))
            if (many < 2) digits[many++] = dot[1] - '0';
        *strchrnul(word, '.') = 0;
        if (delay) {
            dice = dice * 1103515245 + 12345;
            unsigned pause = dice >> 16;
            int heeds; /* A pause is no cancellation point: there is none under control. */
            pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &heeds);
            if (pause % 3) usleep(pause % 400);
            pthread_setcancelstate(heeds, &heeds);
        }
        unsigned i = 0;
        while (i < sizeof words / sizeof *words && strcmp(words[i].name, word)) i++;
        if (i == sizeof words / sizeof *words) fprintf(stderr, "no such word: %s\n", word), _exit(9);
        tell(word, words[i].call(digits[0], digits[1]));
    }
}

static void *body(void *which) {
    me = (long)which;
    begun = 1;
    dice = delay * 31 + me;
    pthread_cleanup_push(release, 0);
    run(texts[me]);
    pthread_cleanup_pop(1);
    return 0;
}

/* What an earlier execution has left. */
static void clean(void) {
    unlink("f0"), unlink("f1"), rmdir("d");
}

static int uses(const char *word) {
    for (int i = 0; i < bodies; i++)
        if (strstr(texts[i], word)) return 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3 || chdir(argv[1]) < 0) return 9;
    bodies = argc - 2;
    texts = argv + 2;
    if (getenv("DELAY")) delay = atoi(getenv("DELAY"));
    threads[0] = pthread_self();
    begun = 1;
    int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_NORMAL};
    for (int i = 0; i < 4; i++) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, kinds[i]);
        if (i == 3) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&mutex[i], &attributes);
    }
    pthread_rwlockattr_t prefer;
    pthread_rwlockattr_init(&prefer);
    pthread_rwlockattr_setkind_np(&prefer, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    for (int i = 0; i < OBJECTS; i++) {
        pthread_cond_init(&cond[i], 0);
        pthread_rwlock_init(&rwlock[i], i ? &prefer : 0);
        pthread_spin_init(&spin[i], 0);
        sem_init(&semaphore[i], 0, i);
    }
    pthread_barrier_init(&barrier, 0, 2);
    if (uses("signal") || uses("kill") || uses("sig") || uses("raise")) {
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(SIGUSR1, &action, 0);
        sigaction(SIGRTMIN, &action, 0);
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR2, &action, 0);
    }
    if (uses("read") || uses("write") || uses("select"))
        for (int i = 0; i < OBJECTS; i++) if (pipe(pipes[i])) return 9;
    if (uses("send") || uses("recv") || uses("shutdown"))
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs)) return 9;
    if (uses("event") || uses("epoll") || uses("select"))
        for (int i = 0; i < OBJECTS; i++) events[i] = eventfd(0, 0);
    if (uses("epoll")) {
        poller = epoll_create1(0);
        for (int i = 0; i < OBJECTS; i++) {
            struct epoll_event e = {EPOLLIN, {.u32 = 1 + i}};
            epoll_ctl(poller, EPOLL_CTL_ADD, events[i], &e);
        }
    }
    int files = uses("create") || uses("unlink") || uses("rename") || uses("access") || uses("size") || uses("append") || uses("dir") || uses("open");
    if (files) clean();
    if (uses("stream") || uses("print"))
        for (int i = 0; i < OBJECTS; i++) streams[i] = fopen("/dev/null", "w");
    if (uses("key") && pthread_key_create(&key, at_end)) return 9;
    if (uses("msg")) {
        queue = msgget(IPC_PRIVATE, 0600);
        /* There is room for one message. */
        struct msqid_ds state;
        msgctl(queue, IPC_STAT, &state);
        state.msg_qbytes = 1;
        msgctl(queue, IPC_SET, &state);
    }
    if (uses("mq")) {
        const char *name = strrchr(argv[1], '/');
        struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
        posted = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
        mq_unlink(name);
    }
    if (uses("semop")) counters = semget(IPC_PRIVATE, 1, 0600);
    body(0);
    if (files) clean();
    if (queue >= 0) msgctl(queue, IPC_RMID, 0);
    if (counters >= 0) semctl(counters, 0, IPC_RMID);
    return 0;
}
