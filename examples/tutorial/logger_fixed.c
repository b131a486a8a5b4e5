// A logger: threads hand lines in, one thread writes them out, and `log_close` ends it.

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const char *lines[16];
static int count;
static bool closing;

static void write_lines(void) {
    for (int i = 0; i < count; i++)
        puts(lines[i]);
    count = 0;
}

static void *writer(void *unused) {
    pthread_mutex_lock(&mutex);
    while (!closing) {
        if (count == 0)
            pthread_cond_wait(&changed, &mutex);
        write_lines();
    }
    write_lines();
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void log_line(const char *line) {
    pthread_mutex_lock(&mutex);
    lines[count++] = line;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void log_close(pthread_t thread) {
    pthread_mutex_lock(&mutex);
    closing = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    log_line("the order was paid");
    log_close(thread);
    return 0;
}
