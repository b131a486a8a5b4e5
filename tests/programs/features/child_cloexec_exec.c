// Children that close every descriptor from 3 up, in one of several ways, and become another program: that is the program's own, with
// its environment, and ends well.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/close_range.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(int way) {
    int ends[2], status;
    char text[8] = "";
    pid_t child;
    char *command[] = {"/bin/sh", "-c", "test -z \"$LD_PRELOAD\" && echo x", NULL};
    if (pipe2(ends, O_CLOEXEC)) return 1;
    if (way == 4) {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        posix_spawn_file_actions_addclosefrom_np(&actions, 3);
        if (posix_spawn(&child, command[0], &actions, NULL, command, environ)) return 2;
    } else if ((child = fork()) == 0) {
        dup2(ends[1], 1);
        if (way == 0) close_range(3, ~0U, 0);
        if (way == 1) close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        if (way == 2) closefrom(3);
        if (way == 3)
            for (int fd = 3; fd < 2048; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);
        execv(command[0], command);
        _exit(255);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0) return 3;
    return length != 2 || strcmp(text, "x\n") != 0;
}

int main(void) {
    if (getenv("LD_PRELOAD")) return 9;
    for (int way = 0; way < 5; way++)
        if (run(way)) return 10 + way;
    return 0;
}
