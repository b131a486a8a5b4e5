// The repaired twin of wild_writes: the flag never has the value that would let the thread write wildly.
// Correct in every order.

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int flag;

static void write_wildly(void) {
    struct {
        unsigned long start, end;
    } ranges[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], rights[8];
    while (maps && count < 512 && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &ranges[count].start, &ranges[count].end, rights) == 3 && rights[1] == 'w' &&
            !strstr(line, "[stack]"))
            count++;
    for (int i = 0; i < count; i++) {
        unsigned long end = ranges[i].end;
        if (end - ranges[i].start > 1 << 20)
            end = ranges[i].start + (1 << 20);
        for (volatile unsigned long *p = (void *)ranges[i].start; (unsigned long)p < end; p++)
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
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, setter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
