// What a process has in the kernel is as main found it, in every execution: changed by a thread, looked at by another one, and
// compared at the beginning with what a constructor saw. The argument says which.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static char page[8192] __attribute__((aligned(4096)));

static long hash(const char *text) {
    long sum = 0;
    while (*text) sum = sum * 31 + *text++;
    return sum;
}

static long get_directory(void) {
    char path[4096];
    return getcwd(path, sizeof path) ? hash(path) : -1;
}
static void set_directory(void) { if (chdir("/")) abort(); }
static void set_directory_by_descriptor(void) {
    int fd = open("/", O_RDONLY | O_DIRECTORY);
    if (fd < 0 || fchdir(fd)) abort();
}

static long get_mask(void) {
    mode_t mask = umask(0);
    umask(mask);
    return mask;
}
static void set_mask(void) { umask(0111); }

static long get_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    return (long)(limit.rlim_cur * 31 + limit.rlim_max);
}
static void set_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    if (setrlimit(RLIMIT_NOFILE, &limit)) abort();
}
static long get_hard_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    return (long)(limit.rlim_cur * 31 + limit.rlim_max);
}
static void set_hard_limit(void) {
    struct rlimit limit = {0, 0};
    if (setrlimit(RLIMIT_CORE, &limit)) abort();
}

static long get_nice(void) { return getpriority(PRIO_PROCESS, 0); }
static void set_nice(void) { if (setpriority(PRIO_PROCESS, 0, 7)) abort(); }
static void set_nice_by_step(void) {
    errno = 0;
    if (nice(3) == -1 && errno) abort();
}

static long get_processors(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
}
static void set_processors(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
}
static void set_processors_of_main(void);

static long get_policy(void) { return sched_getscheduler(0); }
static void set_policy(void) {
    struct sched_param parameters = {0};
    if (sched_setscheduler(0, SCHED_BATCH, &parameters)) abort();
}

static long get_name(void) {
    char name[16];
    prctl(PR_GET_NAME, name);
    return hash(name);
}
static void set_name(void) { pthread_setname_np(pthread_self(), "changed"); }
static void set_name_of_main(void);

static long get_dumpable(void) { return prctl(PR_GET_DUMPABLE); }
static void set_dumpable(void) { prctl(PR_SET_DUMPABLE, 0); }
static long get_keepcaps(void) { return prctl(PR_GET_KEEPCAPS); }
static void set_keepcaps(void) { prctl(PR_SET_KEEPCAPS, 1); }
static long get_death_signal(void) {
    int signal = -1;
    prctl(PR_GET_PDEATHSIG, &signal);
    // Ordain ends the program when it ends itself, by the same means; before main it shows.
    return signal == SIGKILL ? 0 : signal;
}
static void set_death_signal(void) { prctl(PR_SET_PDEATHSIG, SIGUSR1); }
static long get_slack(void) { return prctl(PR_GET_TIMERSLACK); }
static void set_slack(void) { prctl(PR_SET_TIMERSLACK, 1234567); }
static long get_subreaper(void) {
    int adopts = -1;
    prctl(PR_GET_CHILD_SUBREAPER, &adopts);
    return adopts;
}
static void set_subreaper(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }
static long get_privileges(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); }
static void set_privileges(void) { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
static long get_thp(void) { return prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0); }
static void set_thp(void) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

static long get_personality(void) { return personality(0xffffffff); }
static void set_personality(void) { personality(personality(0xffffffff) | SHORT_INODE); }

static long get_io(void) { return syscall(SYS_ioprio_get, 1, 0); }
static void set_io(void) { syscall(SYS_ioprio_set, 1, 0, 3 << 13); }

static long get_nonblocking(void) { return fcntl(0, F_GETFL) & O_NONBLOCK; }
static void set_nonblocking(void) { fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK); }
static void set_nonblocking_by_ioctl(void) {
    int on = 1;
    ioctl(0, FIONBIO, &on);
}
static long get_appending(void) { return fcntl(1, F_GETFL) & O_APPEND; }
static void set_appending(void) { fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_APPEND); }
static long get_closing(void) { return fcntl(2, F_GETFD); }
static void set_closing(void) { fcntl(2, F_SETFD, FD_CLOEXEC); }

static long get_input(void) { return lseek(0, 0, SEEK_CUR); }
static void set_input(void) { lseek(0, 3, SEEK_SET); }
static long get_output(void) { return lseek(1, 0, SEEK_CUR); }
static void set_output(void) { if (write(1, "x\n", 2) != 2) abort(); }
static long get_size(void) {
    struct stat status;
    fstat(1, &status);
    return status.st_size;
}
static long get_open(void) { return fcntl(0, F_GETFD) >= 0; }
static void set_open(void) { close(0); }
static long get_replaced(void) {
    struct stat status;
    fstat(2, &status);
    return S_ISREG(status.st_mode);
}
static void set_replaced(void) { if (!freopen("/dev/null", "w", stderr)) abort(); }

static int early = -1;
static long get_early(void) { return lseek(early, 0, SEEK_CUR); }
static void set_early(void) {
    char bytes[4];
    if (read(early, bytes, sizeof bytes) != sizeof bytes) abort();
}
static long get_early_open(void) { return fcntl(early, F_GETFD) >= 0; }
static void set_early_open(void) { close(early); }
static void set_early_open_by_stream(void) { fclose(fdopen(early, "r")); }

static long get_copies(void) {
    long open = 0;
    for (int fd = 0; fd < 512; fd++) open += fcntl(fd, F_GETFD) >= 0;
    return open;
}
static void set_copies(void) { fcntl(1, F_DUPFD, 300); }

static long get_signals(void) {
    struct sigaction action;
    sigaction(SIGUSR1, 0, &action);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, 0, &mask);
    return (action.sa_handler == SIG_IGN) + 2 * sigismember(&mask, SIGUSR2);
}
static void set_signals(void) {
    signal(SIGUSR1, SIG_IGN);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &mask, 0);
}
static long get_stack(void) {
    stack_t stack;
    sigaltstack(0, &stack);
    return stack.ss_flags;
}
static void set_stack(void) {
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, 0);
}

static long get_page(void) { return page[0]; }
static void set_page(void) { madvise(page, sizeof page, MADV_DONTNEED); }
static void set_page_anew(void) {
    mmap(page, sizeof page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
static long get_writable(void) {
    // Whether the kernel can write there.
    int fds[2];
    if (pipe(fds) || write(fds[1], "d", 1) != 1) abort();
    long result = read(fds[0], page + 4096, 1);
    close(fds[0]);
    close(fds[1]);
    return result;
}
static void set_writable(void) { mprotect(page + 4096, 4096, PROT_READ); }
static void set_locked(void) { mlock(page, sizeof page); }
static long get_heap(void) { return (intptr_t)sbrk(0); }
static void set_heap(void) { sbrk(1 << 20); }
static void set_heap_lower(void) { sbrk(-4096); }
static void *large;
static long get_large(void) { return large ? *(long *)large : 0; }
static void set_large(void) {
    free(large);
    large = 0;
}

static long get_timer(void) {
    struct itimerval timer;
    getitimer(ITIMER_REAL, &timer);
    return timer.it_value.tv_sec != 0;
}
static void set_timer(void) { alarm(1000); }
static int pipe_of_constructor[2];
static long get_pipe(void) {
    int waiting = 0;
    ioctl(pipe_of_constructor[0], FIONREAD, &waiting);
    return waiting;
}
static void set_pipe(void) { if (write(pipe_of_constructor[1], "x", 1) != 1) abort(); }
static int *shared_of_constructor;
static long get_shared(void) { return *shared_of_constructor; }
static void set_shared(void) { *shared_of_constructor = 5; }
static long get_nothing(void) { return 0; }
static void set_keyring(void) { syscall(SYS_keyctl, 1, 0); }
static void set_namespace(void) { unshare(CLONE_FS); }
static void set_memory_lock(void) { mlockall(MCL_CURRENT); munlockall(); }
static void set_unknown(void) { syscall(511, 0); }

static const struct item {
    const char *name;
    long (*get)(void);
    void (*set)(void);
} items[] = {
    {"directory", get_directory, set_directory},
    {"directory-descriptor", get_directory, set_directory_by_descriptor},
    {"mask", get_mask, set_mask},
    {"limit", get_limit, set_limit},
    {"hard-limit", get_hard_limit, set_hard_limit},
    {"nice", get_nice, set_nice},
    {"nice-step", get_nice, set_nice_by_step},
    {"processors", get_processors, set_processors},
    {"processors-main", get_processors, set_processors_of_main},
    {"policy", get_policy, set_policy},
    {"name", get_name, set_name},
    {"name-main", get_name, set_name_of_main},
    {"dumpable", get_dumpable, set_dumpable},
    {"keepcaps", get_keepcaps, set_keepcaps},
    {"death-signal", get_death_signal, set_death_signal},
    {"slack", get_slack, set_slack},
    {"subreaper", get_subreaper, set_subreaper},
    {"privileges", get_privileges, set_privileges},
    {"huge-pages", get_thp, set_thp},
    {"personality", get_personality, set_personality},
    {"io-priority", get_io, set_io},
    {"nonblocking", get_nonblocking, set_nonblocking},
    {"nonblocking-ioctl", get_nonblocking, set_nonblocking_by_ioctl},
    {"appending", get_appending, set_appending},
    {"closing", get_closing, set_closing},
    {"input", get_input, set_input},
    {"output", get_output, set_output},
    {"output-size", get_size, set_output},
    {"closed", get_open, set_open},
    {"replaced", get_replaced, set_replaced},
    {"early", get_early, set_early},
    {"early-closed", get_early_open, set_early_open},
    {"early-closed-stream", get_early_open, set_early_open_by_stream},
    {"copies", get_copies, set_copies},
    {"signals", get_signals, set_signals},
    {"stack", get_stack, set_stack},
    {"page", get_page, set_page},
    {"page-anew", get_page, set_page_anew},
    {"writable", get_writable, set_writable},
    {"locked", get_page, set_locked},
    {"locked-all", get_page, set_memory_lock},
    {"heap", get_heap, set_heap},
    {"heap-lower", get_heap, set_heap_lower},
    {"large", get_large, set_large},
    {"pipe", get_pipe, set_pipe},
    {"shared", get_shared, set_shared},
    {"timer", get_timer, set_timer},
    {"keyring", get_nothing, set_keyring},
    {"namespace", get_nothing, set_namespace},
    {"unknown", get_nothing, set_unknown},
};

static const struct item *item;
static long first;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t main_thread;

static void set_processors_of_main(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    pthread_setaffinity_np(main_thread, sizeof set, &set);
}
static void set_name_of_main(void) { pthread_setname_np(main_thread, "changed"); }

__attribute__((constructor)) static void look(int argc, char **argv) {
    early = open(argv[0], O_RDONLY);
    large = malloc(64 << 20);
    *(long *)large = 5;
    page[0] = 'd';
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        if (argc > 1 && !strcmp(items[i].name, argv[1])) item = &items[i];
    }
    if (!item) return;
    if (item->get == get_pipe && pipe(pipe_of_constructor)) abort();
    if (item->get == get_shared) {
        shared_of_constructor = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    first = item->get();
}

static void *change(void *unused) {
    pthread_mutex_lock(&mutex);
    item->set();
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *use(void *unused) {
    pthread_mutex_lock(&mutex);
    dprintf(2, "%s\n", item->get() == first ? "as it was" : "changed");
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    if (!item || item->get() != first) abort();
    pthread_t a, b;
    main_thread = pthread_self();
    pthread_create(&a, 0, change, 0);
    pthread_create(&b, 0, use, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
