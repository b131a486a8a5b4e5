// Two children end in an order that nobody has chosen: whoever waits for any of them may get either, which is not explored.

#include <assert.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(i);
    }
    for (int i = 0; i < 2; i++) {
        pid_t ended = wait(NULL);
        assert(ended == children[0] || ended == children[1]);
    }
    assert(wait(NULL) < 0);
    return 0;
}
