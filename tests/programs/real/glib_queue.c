// An asynchronous queue of GLib between two threads.
#include <glib.h>

static gpointer produce(gpointer queue) {
    for (int i = 1; i <= 2; i++) g_async_queue_push(queue, GINT_TO_POINTER(i));
    return NULL;
}

int main(void) {
    GAsyncQueue *queue = g_async_queue_new();
    GThread *thread = g_thread_new("producer", produce, queue);
    int sum = 0;
    for (int i = 0; i < 2; i++) sum += GPOINTER_TO_INT(g_async_queue_pop(queue));
    g_thread_join(thread);
    g_async_queue_unref(queue);
    return sum != 3;
}
