// A sleep does not end before an alarm that is earlier, and no other thread can take: programs wait for their alarms like that.
#include <assert.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t rang;

static void on_alarm(int signal) {
    (void)signal;
    rang++;
}

int main(void) {
    signal(SIGALRM, on_alarm);
    alarm(1);
    unsigned left = sleep(5);
    assert(rang == 1 && left <= 5);
    // One that is later than the sleep may come or not.
    alarm(60);
    sleep(1);
    assert(rang == 1 || rang == 2);
    return 0;
}
