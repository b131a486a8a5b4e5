// Two threads read a number from a file and write one more.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}


static void *count(void *unused) {
    int value = 0;
    FILE *file = fopen("counter", "r");
    if (fscanf(file, "%d", &value) != 1)
        value = 0;
    fclose(file);
    file = fopen("counter", "w");
    fprintf(file, "%d\n", value + 1);
    fclose(file);
    return NULL;
}

int main(void) {
    enter();
    FILE *file = fopen("counter", "w");
    fputs("0\n", file);
    fclose(file);
    pthread_t a, b;
    pthread_create(&a, NULL, count, NULL);
    pthread_create(&b, NULL, count, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int value = 0;
    file = fopen("counter", "r");
    if (fscanf(file, "%d", &value) != 1)
        value = 0;
    fclose(file);
    remove("counter");
    assert(value == 2);
    return 0;
}
