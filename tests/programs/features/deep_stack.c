// A thread uses a MiB of its stack at once, and another one by many calls, with a scheduling point at the bottom.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int reached;

static void touch_bottom(void) {
    pthread_mutex_lock(&lock);
    reached++;
    pthread_mutex_unlock(&lock);
}

static void *one_large_frame(void *unused) {
    (void)unused;
    volatile char frame[1 << 20];
    memset((void *)frame, 1, sizeof frame);
    touch_bottom();
    assert(frame[0] == 1 && frame[sizeof frame - 1] == 1);
    return NULL;
}

static int __attribute__((noinline)) descend(int level, volatile char *above) {
    volatile char frame[1024];
    memset((void *)frame, level & 0x7f, sizeof frame);
    if (level == 1024) {
        touch_bottom();
    } else {
        assert(descend(level + 1, frame) == level + 1);
    }
    assert(frame[512] == (level & 0x7f) && (above == NULL || above[512] == ((level - 1) & 0x7f)));
    return level;
}

static void *many_frames(void *unused) {
    (void)unused;
    assert(descend(0, NULL) == 0);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, one_large_frame, NULL);
    pthread_create(&b, NULL, many_frames, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(reached == 2);
    return 0;
}
