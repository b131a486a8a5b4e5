// All streams are flushed while another thread writes to one.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static FILE *stream;

static void *fill(void *unused) {
    fputs("abc", stream);
    fputs("d", stream);
    return unused;
}

static void *flush(void *unused) {
    struct stat status;
    fflush(NULL);
    fstat(fileno(stream), &status);
    assert(status.st_size == 0 || status.st_size == 3 || status.st_size == 4);
    return unused;
}

int main(void) {
    stream = tmpfile();
    pthread_t a, b;
    pthread_create(&a, NULL, fill, NULL);
    pthread_create(&b, NULL, flush, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    fclose(stream);
    return 0;
}
