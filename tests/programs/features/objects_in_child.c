// A child process finds once flags and spin locks as they were when it was made, and so does its parent afterwards.

#include <assert.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_once_t done = PTHREAD_ONCE_INIT, open = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static int runs;

static void count(void) { runs++; }

static void use(int expected) {
    assert(pthread_once(&done, count) == 0 && runs == 1);
    assert(pthread_once(&open, count) == 0 && runs == expected);
    assert(pthread_spin_lock(&spin) == 0 && pthread_spin_unlock(&spin) == 0);
}

static void *work(void *unused) {
    assert(pthread_once(&done, count) == 0);
    assert(pthread_spin_lock(&spin) == 0 && pthread_spin_unlock(&spin) == 0);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    int status;
    assert(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        use(2);
        _exit(0);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
    use(2);
    return 0;
}
