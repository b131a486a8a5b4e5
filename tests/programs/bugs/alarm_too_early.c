// The handler of an alarm counts in memory that main gets.
// Crashes if the alarm rings before.

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int *volatile count;
static sem_t rung;

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void on_alarm(int signal) {
    (void)signal;
    ++*count;
    sem_post(&rung);
}

int main(void) {
    handle(SIGALRM, on_alarm, 0);
    alarm(1);
    sem_init(&rung, 0, 0);
    usleep(1);
    count = calloc(1, sizeof *count);
    while (sem_wait(&rung) != 0) {
    }
    return *count == 1 ? 0 : 1;
}
