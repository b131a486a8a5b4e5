// Asks the kernel for a signal when there is something to read, and waits for it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void *send_one(void *unused) {
    (void)!write(ends[1], "x", 1);
    return NULL;
}

int main(int argc, char **argv) {
    int on = 1, number;
    sigset_t set;
    pthread_t thread;
    sigemptyset(&set);
    sigaddset(&set, SIGIO);
    sigprocmask(SIG_BLOCK, &set, NULL);
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    if (fcntl(ends[0], F_SETOWN, getpid()) || fcntl(ends[0], F_GETOWN) != getpid())
        return 3;
    if (argc > 1 && !strcmp(argv[1], "ioctl"))
        ioctl(ends[0], FIOASYNC, &on);
    else
        fcntl(ends[0], F_SETFL, O_ASYNC);
    pthread_create(&thread, NULL, send_one, NULL);
    sigwait(&set, &number);
    pthread_join(thread, NULL);
    return 0;
}
