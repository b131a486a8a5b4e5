// Tasks in a pool of two threads of GLib.
#include <glib.h>

static GMutex lock;
static int done;

static void work(gpointer task, gpointer unused) {
    (void)unused;
    g_mutex_lock(&lock);
    done += GPOINTER_TO_INT(task);
    g_mutex_unlock(&lock);
}

int main(void) {
    GThreadPool *pool = g_thread_pool_new(work, NULL, 2, TRUE, NULL);
    for (int i = 1; i <= 3; i++) g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
    g_thread_pool_free(pool, FALSE, TRUE);
    return done != 6;
}
