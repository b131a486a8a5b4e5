// Threads read what the kernel says of this moment, and take other locks depending on it: in every execution it says the same.

#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static char texts[2][256];
static int counts[2];

// The end of the first number of a text, which changes all the time.
static int digit(const char *text) {
    return text[strcspn(text, " ") - 1] - '0';
}

static void take(int which) {
    pthread_mutex_lock(&locks[which]);
    counts[which]++;
    pthread_mutex_unlock(&locks[which]);
}

static void *by_calls(void *unused) {
    (void)unused;
    int fd = open("/proc/uptime", O_RDONLY | O_CLOEXEC);
    assert(fd >= 0);
    assert(read(fd, texts[0], sizeof texts[0] - 1) > 0);
    take(digit(texts[0]) & 1);
    // A second look is another one, but the same in every execution.
    assert(lseek(fd, 0, SEEK_SET) == 0 && read(fd, texts[0] + 128, 100) > 0);
    close(fd);
    return NULL;
}

static void *by_stream(void *unused) {
    (void)unused;
    FILE *stream = fopen("/proc/uptime", "r");
    assert(stream && fgets(texts[1], sizeof texts[1], stream));
    fclose(stream);
    take(digit(texts[1]) & 1);
    stream = fopen("/dev/urandom", "r");
    int byte = stream ? fgetc(stream) : EOF;
    assert(byte != EOF);
    fclose(stream);
    take(byte & 1);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", getpid());
    assert(access("/proc/self/status", R_OK) == 0);
    int fd = open(path, O_RDONLY);
    assert(fd >= 0);
    close(fd);
    pthread_create(&threads[0], NULL, by_calls, NULL);
    pthread_create(&threads[1], NULL, by_stream, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%s%s%s%d %d\n", texts[0], texts[0] + 128, texts[1], counts[0], counts[1]);
    return 0;
}
