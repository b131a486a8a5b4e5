// A child stops its parent, and nobody lets it go on.
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    if (fork() == 0) {
        kill(getppid(), SIGSTOP);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
