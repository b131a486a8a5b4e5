// One thread reads stdin line by line, main prints what it read: every execution reads the input from its beginning.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char *line;
static size_t capacity;
static int full, ended;

static void *read_lines(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (full) {
            pthread_cond_wait(&changed, &lock);
        }
        full = getline(&line, &capacity, stdin) >= 0;
        ended = !full;
        pthread_cond_signal(&changed);
        int stop = ended;
        pthread_mutex_unlock(&lock);
        if (stop) {
            return NULL;
        }
    }
}

int main(void) {
    pthread_t reader;
    int lines = 0;
    pthread_create(&reader, NULL, read_lines, NULL);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!full && !ended) {
            pthread_cond_wait(&changed, &lock);
        }
        int stop = ended;
        if (!stop) {
            fputs(line, stdout);
            lines++;
            full = 0;
            pthread_cond_signal(&changed);
        }
        pthread_mutex_unlock(&lock);
        if (stop) {
            break;
        }
    }
    pthread_join(reader, NULL);
    free(line);
    printf("%d lines\n", lines);
    return 0;
}
