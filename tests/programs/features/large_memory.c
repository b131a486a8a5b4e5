// Threads allocate 64 MiB, and map and unmap memory: none of it may be left in the next execution.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIZE = 64 << 20, PAGE = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finished;

static void finish(void) {
    pthread_mutex_lock(&lock);
    finished++;
    pthread_mutex_unlock(&lock);
}

static void *allocate(void *unused) {
    (void)unused;
    char *memory = malloc(SIZE);
    assert(memory != NULL);
    memory[0] = 1;
    memory[SIZE - 1] = 2;
    finish();
    assert(memory[0] == 1 && memory[SIZE - 1] == 2);
    free(memory);
    return NULL;
}

static void *map(void *unused) {
    (void)unused;
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(memory != MAP_FAILED);
    // New memory is zero, also in the next execution.
    assert(memory[0] == 0 && memory[SIZE - 1] == 0);
    memory[0] = memory[SIZE - 1] = 1;
    assert(munmap(memory + SIZE / 2, SIZE / 2) == 0);
    finish();
    assert(memory[0] == 1);
    assert(mprotect(memory, PAGE, PROT_READ) == 0);
    assert(munmap(memory, SIZE / 2) == 0);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, allocate, NULL);
    pthread_create(&b, NULL, map, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(finished == 2);
    return 0;
}
