// The process, its children and its numbers.
//
// Not called, because they are refused: clone, execve, execv, execvp, execvpe, execl, execlp, execle, fexecve and execveat
// outside of children; aio_read, aio_write, aio_fsync, aio_read64, aio_write64, aio_fsync64, lio_listio, lio_listio64,
// getaddrinfo_a, mq_notify. Not called, because they end the program: exit, _exit, _Exit and quick_exit of the program itself,
// __assert_fail, __assert, __assert_perror_fail, daemon. Not called, because they need rights or a terminal:
// setgroups, initgroups, forkpty. Called by other functions: __register_atfork, __cxa_atexit, __cxa_finalize, __cxa_at_quick_exit. Not in every C library:
// pidfd_spawn, pidfd_spawnp.
#define _GNU_SOURCE
#include "conformance.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <wordexp.h>

extern char **environ;
pid_t __waitpid(pid_t, int *, int);
pid_t __fork(void);
pid_t __vfork(void);

static pid_t child(int status) {
    pid_t process = fork();
    if (process == 0) _exit(status);
    return process;
}

static void at_end(int status, void *argument) { (void)status, (void)argument; }
static void at_quick_end(void) {}

int main(int argc, char **argv) {
    HOLDS(getpid() > 0 && getppid() >= 0 && gettid() == getpid());
    // A leader outside the process namespace is shown as 0, which is an answer as well.
    HOLDS(getpgrp() >= 0 && getpgid(0) == getpgrp() && getsid(0) >= 0);
    SHOW(getpgid(-1));
    SHOW(setpgid(0, -1));
    SHOW(getsid(-1));
    HOLDS((void *)setsid != NULL && (void *)setpgrp != NULL);
    HOLDS(sched_getcpu() >= 0);
    unsigned cpu, node;
    SHOW(getcpu(&cpu, &node));
    SHOW(getcpu(NULL, NULL));
    SHOW(shmget(IPC_PRIVATE, 0, 0600));
    SHOW(shmget(0x6f726411, 1, 0));
    SHOW(semget(IPC_PRIVATE, -1, 0600));
    SHOW(msgget(0x6f726412, 0));
    SHOW(mq_open("/none/of/these", O_RDONLY));
    SHOW(mq_open("/ordain-is-not-there", O_RDONLY));
    SHOW(shm_open("/ordain-is-not-there", O_RDONLY, 0));
    SHOW(shm_open("/none/of/these", O_CREAT | O_RDWR, 0600));
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 4};
    mqd_t queue = mq_open("/ordain-conformance", O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attributes);
    HOLDS(queue >= 0 && mq_unlink("/ordain-conformance") == 0);
    char message[4];
    SHOW(mq_receive(queue, message, sizeof message, NULL));
    SHOW(mq_receive(queue, message, 1, NULL));
    SHOW(mq_send(queue, "abcd", 4, 1));
    SHOW(mq_send(queue, "abcd", 4, 1));
    SHOW(mq_send(queue, "abcde", 5, 1));
    SHOW(mq_timedsend(queue, "abcd", 4, 1, &past));
    SHOW(mq_timedreceive(queue, message, sizeof message, NULL, &past));
    SHOW(mq_timedreceive(queue, message, sizeof message, NULL, &past));
    SHOW(mq_timedreceive(-1, message, sizeof message, NULL, &past));
    SHOW(mq_close(queue));
    SHOW(mq_close(queue));
    SHOW(on_exit(at_end, NULL));
    SHOW(at_quick_exit(at_quick_end));
    int messages = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    HOLDS(messages >= 0 && msgctl(messages, IPC_RMID, NULL) == 0);
    int status;
    struct rusage usage;
    SHOW(waitpid(-1, &status, 0));
    SHOW(wait(&status));
    SHOW(waitpid(-1, &status, 0x7777));
    pid_t process = child(3);
    HOLDS(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 3);
    process = child(4);
    HOLDS(wait(&status) == process && WEXITSTATUS(status) == 4);
    process = child(5);
    HOLDS(__waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 5);
    process = child(6);
    HOLDS(wait3(&status, 0, &usage) == process && WEXITSTATUS(status) == 6);
    process = child(7);
    HOLDS(wait4(process, &status, 0, &usage) == process && WEXITSTATUS(status) == 7);
    process = child(8);
    siginfo_t info;
    SHOW(waitid(P_PID, process, &info, WEXITED));
    line("%d %d %d", info.si_signo, info.si_code, info.si_status);
    SHOW(waitid(P_ALL, 0, &info, WEXITED));
    SHOW(waitid(P_ALL, 0, &info, 0));
    process = vfork();
    if (process == 0) _exit(9);
    HOLDS(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 9);
    process = __vfork();
    if (process == 0) _exit(10);
    HOLDS(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 10);
    process = __fork();
    if (process == 0) _exit(11);
    int handle = pidfd_open(process, 0);
    HOLDS(handle >= 0 && close(handle) == 0);
    HOLDS(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 11);
    process = _Fork();
    if (process == 0) _exit(12);
    HOLDS(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 12);
    SHOW(pidfd_open(-1, 0));
    SHOW(pidfd_open(process, 0x7777));
    wordexp_t words;
    SHOW(wordexp("one 'two three'", &words, 0));
    line("%zu %s", words.we_wordc, words.we_wordv[1]);
    wordfree(&words);
    SHOW(wordexp("$(echo four)", &words, 0));
    line("%zu %s", words.we_wordc, words.we_wordv[0]);
    wordfree(&words);
    SHOW(wordexp("$(echo four)", &words, WRDE_NOCMD));
    SHOW(wordexp("(", &words, 0));
    char *arguments[] = {"true", NULL};
    SHOW(posix_spawnp(&process, "true", NULL, NULL, arguments, environ));
    HOLDS(waitpid(process, &status, 0) == process && status == 0);
    SHOW(posix_spawn(&process, "/nonexistent/program", NULL, NULL, arguments, environ));
    SHOW(system("exit 3") >> 8);
    SHOW(system(NULL) != 0);
    FILE *stream = popen("echo word", "r");
    char word[10] = "";
    HOLDS(stream && fscanf(stream, "%9s", word) == 1 && !strcmp(word, "word"));
    SHOW(pclose(stream));
    SHOW(syscall(SYS_getpid) == getpid());
    SHOW(syscall(SYS_gettid) == gettid());
    SHOW(syscall(7777));
    SHOW(syscall(SYS_futex, &status, 0, status + 1, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, &status, 1, 1, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, &status, 77, 1, NULL, NULL, 0));
    SHOW(setuid(getuid()));
    SHOW(setgid(getgid()));
    SHOW(seteuid(geteuid()));
    SHOW(setegid(getegid()));
    SHOW(setreuid(-1, getuid()));
    SHOW(setregid(getgid(), -1));
    SHOW(setresuid(-1, -1, -1));
    SHOW(setresgid(-1, getgid(), -1));
    HOLDS(getenv("ORDAIN_NONE") == NULL && secure_getenv("ORDAIN_NONE") == NULL);
    SHOW(setenv("ORDAIN_SOME", "word", 1));
    SHOW(setenv("ORDAIN_SOME", "other", 0));
    SHOW(setenv("", "word", 1));
    HOLDS(!strcmp(getenv("ORDAIN_SOME"), "word"));
    SHOW(unsetenv("ORDAIN_SOME"));
    SHOW(unsetenv("A=B"));
    static char text[] = "ORDAIN_SOME=again";
    SHOW(putenv(text));
    HOLDS(!strcmp(getenv("ORDAIN_SOME"), "again"));
    SHOW(pthread_atfork(NULL, NULL, NULL));
    SHOW(dlopen("/nonexistent/library.so", RTLD_NOW) == NULL);
    SHOW(dlmopen(LM_ID_BASE, "/nonexistent/library.so", RTLD_NOW) == NULL);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    HOLDS(library != NULL && dlsym(library, "cos") != NULL);
    SHOW(dlclose(library));
    library = dlmopen(LM_ID_BASE, "libm.so.6", RTLD_NOW);
    HOLDS(library != NULL);
    SHOW(dlclose(library));
    SHOW(clearenv());
    HOLDS(getenv("PATH") == NULL);
    return finish(argc, argv);
}
