// A grandchild whose parent has ended still writes: the pipe does not end before. It outlives the program, so that is not verified.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    int ends[2], status;
    char text[8];
    if (pipe(ends)) return 1;
    pid_t child = fork();
    if (child == 0) {
        if (fork()) _exit(0);
        nanosleep(&(struct timespec){0, 50000000}, 0);
        write(ends[1], "x\n", 2);
        for (;;) pause();
    }
    if (waitpid(child, &status, 0) != child || status != 0) return 2;
    close(ends[1]);
    return read(ends[0], text, sizeof text) != 2;
}
