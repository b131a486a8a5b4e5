// The repaired twin of wild_writes: the flag never has the value that would let the thread write wildly.
// Correct in every order.

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int flag;

static struct range {
    unsigned long start, end;
} ranges[512];
static int count;

// Before there are threads: how much there is to read differs from process to process.
static void look_around(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], rights[8];
    while (maps && count < 512 && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &ranges[count].start, &ranges[count].end, rights) == 3 && rights[1] == 'w' &&
            !strstr(line, "[stack]"))
            count++;
}

static void write_wildly(void) {
    // A copy on the stack, which is not written over.
    struct range all[512];
    memcpy(all, ranges, sizeof all);
    int last = count;
    for (int i = 0; i < last; i++) {
        unsigned long end = all[i].end;
        if (end - all[i].start > 1 << 20)
            end = all[i].start + (1 << 20);
        for (volatile unsigned long *p = (void *)all[i].start; (unsigned long)p < end; p++)
            *p = 0x4141414141414141;
    }
}

static void *setter(void *unused) {
    pthread_mutex_lock(&lock);
    flag = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reader(void *unused) {
    pthread_mutex_lock(&lock);
    int found = flag;
    pthread_mutex_unlock(&lock);
    if (found == 2)
        write_wildly();
    return unused;
}

int main(void) {
    look_around();
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, setter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
