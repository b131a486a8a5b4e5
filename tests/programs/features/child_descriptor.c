// A descriptor of a child is ready when the child has ended, whether it is waited for alone or together with a pipe.
#define _GNU_SOURCE
#include <poll.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    for (int more = 0; more < 2; more++) {
        int ends[2], status;
        pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) {
            usleep(30000);
            _exit(0);
        }
        if (pipe(ends)) return 2;
        struct pollfd wanted[2] = {{(int)syscall(SYS_pidfd_open, child, 0), POLLIN, 0}, {ends[0], POLLIN, 0}};
        if (wanted[0].fd < 0) return 3;
        if (poll(wanted, 1 + more, -1) != 1 || !(wanted[0].revents & POLLIN)) return 4;
        close(wanted[0].fd);
        close(ends[0]);
        close(ends[1]);
        if (waitpid(child, &status, 0) != child || status != 0) return 5;
    }
    return 0;
}
