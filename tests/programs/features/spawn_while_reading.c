// A thread waits at a pipe before another one makes the child that writes to it.
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int ends[2];
static char text[8];

static void *receive(void *unused) {
    (void)unused;
    return (void *)(long)read(ends[0], text, sizeof text);
}

int main(void) {
    pthread_t thread;
    pid_t child;
    int status;
    void *length;
    char *command[] = {"/bin/sh", "-c", "sleep 0.05; echo x", NULL};
    posix_spawn_file_actions_t actions;
    if (pipe(ends)) return 1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    pthread_create(&thread, NULL, receive, NULL);
    if (posix_spawn(&child, command[0], &actions, NULL, command, environ)) return 2;
    pthread_join(thread, &length);
    if (waitpid(child, &status, 0) != child || status != 0) return 3;
    return (long)length != 2;
}
