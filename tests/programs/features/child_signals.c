// SIGCHLD comes when a child ends, before it is waited for; handlers that are set before fork are the child's too.

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void on_child(int signal) {
    (void)signal;
    ended = ended + 1;
}

static void leave(int signal) {
    (void)signal;
    _exit(4);
}

int main(void) {
    struct sigaction action = {.sa_handler = on_child};
    sigset_t children, before;
    siginfo_t info;
    int status;
    sigaction(SIGCHLD, &action, NULL);
    action.sa_handler = leave;
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, &before);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        _exit(5);
    }
    while (!ended) {
        sigsuspend(&before);
    }
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 4);
    assert(ended == 1);
    child = fork();
    if (child == 0) {
        _exit(3);
    }
    assert(sigwaitinfo(&children, &info) == SIGCHLD);
    assert(info.si_pid == child && info.si_code == CLD_EXITED && info.si_status == 3);
    assert(waitpid(child, &status, 0) == child && ended == 1);
    return 0;
}
