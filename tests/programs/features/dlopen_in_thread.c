// A thread loads a library, calls it and unloads it.

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static void *compute(void *result) {
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    assert(library != NULL);
    double (*cosine)(double);
    *(void **)&cosine = dlsym(library, "cos");
    assert(cosine != NULL);
    *(double *)result = cosine(0.0);
    assert(dlclose(library) == 0);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    double results[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, compute, &results[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert(results[i] == 1.0);
    }
    return 0;
}
