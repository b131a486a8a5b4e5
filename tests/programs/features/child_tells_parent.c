// A child sends signals to its parent, which waits for one in sigsuspend and takes the other with its value.

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t come;

static void on_signal(int signal) {
    (void)signal;
    come = come + 1;
}

int main(void) {
    sigset_t both, before;
    siginfo_t info;
    int status;
    signal(SIGUSR1, on_signal);
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    sigprocmask(SIG_BLOCK, &both, &before);
    sigaddset(&before, SIGUSR2);
    pid_t child = fork();
    if (child == 0) {
        union sigval value = {.sival_int = 7};
        assert(kill(getppid(), 0) == 0);
        assert(sigqueue(getppid(), SIGUSR2, value) == 0);
        assert(kill(getppid(), SIGUSR1) == 0);
        _exit(0);
    }
    while (!come) sigsuspend(&before);
    sigdelset(&both, SIGUSR1);
    assert(sigwaitinfo(&both, &info) == SIGUSR2);
    assert(info.si_pid == child && info.si_value.sival_int == 7);
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert(come == 1);
    return 0;
}
