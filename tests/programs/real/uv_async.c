// A thread wakes the loop of libuv.
#include <uv.h>

static uv_async_t async;
static int woken;

static void on_wake(uv_async_t *handle) {
    woken++;
    uv_close((uv_handle_t *)handle, 0);
}

static void wake(void *unused) {
    (void)unused;
    uv_async_send(&async);
}

int main(void) {
    uv_thread_t thread;
    uv_async_init(uv_default_loop(), &async, on_wake);
    uv_thread_create(&thread, wake, 0);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    uv_thread_join(&thread);
    return woken != 1;
}
