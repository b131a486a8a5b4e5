// An old error does not overwrite a result.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int status, old_errors;

static void *report_old_error(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    old_errors++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *report_success(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    status = 0;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, report_old_error, NULL);
    pthread_create(&b, NULL, report_success, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return status;
}
