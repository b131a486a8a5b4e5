// A number is closed that a poll set has an interest in, but a copy of the descriptor keeps that. The set may be a copy, too.
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int ends[2];
    if (argc < 2 || pipe(ends)) return 2;
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN}, got;
    if (epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) || dup(ends[0]) < 0) return 3;
    if (!strcmp(argv[1], "copied-set")) {
        int other = dup(set);
        close(set);
        set = other;
    }
    close(ends[0]);
    return epoll_wait(set, &got, 1, 0) != 0;
}
