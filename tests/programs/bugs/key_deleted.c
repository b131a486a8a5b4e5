// A key is deleted while a thread may be about to end: its destructor runs, or it does not.
#include <pthread.h>

static pthread_key_t key;
static int ran;

static void note(void *value) {
    *(int *)value = 1;
}

static void *work(void *unused) {
    pthread_setspecific(key, &ran);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_key_create(&key, note);
    pthread_create(&thread, 0, work, 0);
    pthread_key_delete(key);
    pthread_join(thread, 0);
    return ran;
}
