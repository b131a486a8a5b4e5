// Waits for ever before main.

#include <unistd.h>

__attribute__((constructor)) static void wait(void) {
    for (;;)
        pause();
}

int main(void) {
    return 0;
}
