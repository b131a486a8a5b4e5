// Two threads make child processes, print their numbers and wait for them: the numbers are the same in every execution, although
// those that the kernel gives are not. A child sees itself and its parent as the parent sees them.

#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// What a child tells of itself.
struct told {
    pid_t self, parent, thread, group, grandchild, kernel;
};

struct made {
    pid_t first, second, spawned;
    struct told told;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finished;
static struct made made[2];

// The number that the kernel knows this process by.
static pid_t known_to_kernel(void) {
    char text[32];
    ssize_t length = readlink("/proc/self", text, sizeof text - 1);
    assert(length > 0);
    text[length] = 0;
    return atoi(text);
}

static void tell(int to) {
    struct told told = {getpid(), getppid(), gettid(), getpgrp(), 0, known_to_kernel()};
    assert(syscall(SYS_getpid) == told.kernel || syscall(SYS_getpid) == told.self);
    pid_t grandchild = fork();
    if (grandchild == 0) _exit(getppid() == told.self ? 3 : 4);
    int status;
    told.grandchild = grandchild;
    if (waitpid(grandchild, &status, 0) != grandchild || WEXITSTATUS(status) != 3) _exit(1);
    if (write(to, &told, sizeof told) != sizeof told) _exit(1);
    _exit(7);
}

static void *work(void *argument) {
    struct made *mine = argument;
    int ends[2], status;
    siginfo_t info;
    assert(pipe(ends) == 0);
    mine->first = fork();
    assert(mine->first >= 0);
    if (mine->first == 0) tell(ends[1]);
    assert(read(ends[0], &mine->told, sizeof mine->told) == sizeof mine->told);
    assert(waitpid(mine->first, &status, 0) == mine->first);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert(mine->told.self == mine->first && mine->told.thread == mine->first && mine->told.parent == getpid());
    assert(mine->told.group == getpgrp() && mine->told.kernel != mine->first);
    assert(waitpid(mine->first, &status, 0) == -1 && errno == ECHILD);
    assert(kill(mine->first, 0) == -1 && errno == ESRCH);

    // A signal finds the child by its number.
    mine->second = fork();
    if (mine->second == 0) {
        for (;;) pause();
    }
    assert(kill(mine->second, 0) == 0 && kill(mine->second, SIGTERM) == 0);
    assert(waitid(P_PID, mine->second, &info, WEXITED) == 0 && info.si_pid == mine->second);
    assert(info.si_code == CLD_KILLED && info.si_status == SIGTERM);

    char *arguments[] = {"true", NULL};
    assert(posix_spawn(&mine->spawned, "/bin/true", NULL, NULL, arguments, environ) == 0);
    assert(waitpid(mine->spawned, &status, 0) == mine->spawned && status == 0);
    close(ends[0]);
    close(ends[1]);

    pthread_mutex_lock(&lock);
    finished++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, &made[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(finished == 2 && getpid() != known_to_kernel());
    printf("process %d of %d in group %d\n", getpid(), getppid(), getpgrp());
    for (int i = 0; i < 2; i++) {
        printf("children %d %d %d, grandchild %d\n", made[i].first, made[i].second, made[i].spawned, made[i].told.grandchild);
    }

    // Two children that end at the same time: who waits for any gets the older one first.
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(i);
    }
    for (int i = 0; i < 2; i++) {
        int status;
        assert(wait(&status) == children[i] && WEXITSTATUS(status) == i);
    }
    assert(wait(NULL) == -1 && errno == ECHILD);
    printf("last children %d %d\n", children[0], children[1]);
    return 0;
}
