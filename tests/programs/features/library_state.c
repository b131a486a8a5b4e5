// Data of libraries is as main found it, in every execution: of two that the program is linked with, of one that it loads in a
// constructor, and of one that threads load and unload.
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

int state_changes(void);
void state_change(void);
void exits_note(int who);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int (*loaded_changes)(void);
static void (*loaded_change)(void);

__attribute__((constructor)) static void load(void) {
    void *library = dlopen("libloaded.so", RTLD_NOW | RTLD_LOCAL);
    assert(library != NULL);
    *(void **)&loaded_changes = dlsym(library, "loaded_changes");
    *(void **)&loaded_change = dlsym(library, "loaded_change");
}

static void *change(void *unused) {
    pthread_mutex_lock(&mutex);
    state_change();
    loaded_change();
    exits_note(2);
    void *library = dlopen("liborder.so", RTLD_NOW | RTLD_LOCAL);
    assert(library != NULL);
    void (*prepare)(void), (*use)(void);
    *(void **)&prepare = dlsym(library, "order_prepare");
    *(void **)&use = dlsym(library, "order_use");
    prepare();
    use();
    assert(dlclose(library) == 0);
    assert(state_changes() % 100 <= 8 && state_changes() / 100 == 1);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    assert(state_changes() == 0 && loaded_changes() == 0);
    assert(dlopen("liborder.so", RTLD_NOW | RTLD_NOLOAD) == NULL);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, change, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(state_changes() == 8 && loaded_changes() == 4);
    return 0;
}
