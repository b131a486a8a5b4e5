// A child made by posix_spawn writes to a pipe long after the program has begun to read: the program waits for it.
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(void) {
    int ends[2], status;
    char text[8];
    pid_t child;
    char *command[] = {"/bin/sh", "-c", "sleep 0.05; echo x", NULL};
    posix_spawn_file_actions_t actions;
    if (pipe(ends)) return 1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    if (posix_spawn(&child, command[0], &actions, NULL, command, environ)) return 2;
    close(ends[1]);
    if (read(ends[0], text, sizeof text) != 2) return 3;
    return waitpid(child, &status, 0) != child || status != 0;
}
