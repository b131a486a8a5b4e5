// A thread sets a variable of the environment and reads it back, while another sets it too.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *set(void *value) {
    setenv("WHO", value, 1);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, set, "other");
    setenv("WHO", "main", 1);
    assert(!strcmp(getenv("WHO"), "main"));
    pthread_join(thread, 0);
    return 0;
}
