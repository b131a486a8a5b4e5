// One thread reads what a child writes, another one writes what the child reads: neither keeps the other from going on.
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int to[2], from[2];

static void *feed(void *unused) {
    (void)unused;
    ssize_t written = write(to[1], "hello", 5);
    close(to[1]);
    return (void *)(long)(written != 5);
}

int main(void) {
    pthread_t thread;
    char text[8] = "";
    int status;
    size_t length = 0;
    void *failed;
    if (pipe(to) || pipe(from)) return 1;
    pid_t child = fork();
    if (child == 0) {
        close(to[1]);
        while (read(to[0], text + length, 1) == 1) length++;
        // In one piece, so that the program reads as often in every execution.
        _exit(write(from[1], text, length) != (ssize_t)length);
    }
    close(to[0]);
    close(from[1]);
    pthread_create(&thread, NULL, feed, NULL);
    for (ssize_t more; (more = read(from[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)more;
    pthread_join(thread, &failed);
    if (failed || waitpid(child, &status, 0) != child || status != 0) return 2;
    return strcmp(text, "hello") != 0;
}
