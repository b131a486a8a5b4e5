// A thread holds the lock of stdout across a mutex, while another one prints: the lock is inside the C library.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int lines;

static void count_line(void) {
    pthread_mutex_lock(&lock);
    lines++;
    pthread_mutex_unlock(&lock);
}

static void *print_in_parts(void *unused) {
    (void)unused;
    flockfile(stdout);
    fputs("a line ", stdout);
    count_line();
    fputs("in parts\n", stdout);
    funlockfile(stdout);
    return NULL;
}

static void *print_at_once(void *unused) {
    (void)unused;
    puts("a line at once");
    count_line();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, print_in_parts, NULL);
    pthread_create(&b, NULL, print_at_once, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(lines == 2);
    return 0;
}
