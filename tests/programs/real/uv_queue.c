// Tasks in libuv's pool of threads, and what follows them in the loop.
#include <uv.h>

static int finished;

static void work(uv_work_t *request) { (void)request; }

static void after(uv_work_t *request, int status) {
    (void)request, (void)status;
    finished++;
}

int main(void) {
    uv_work_t requests[3];
    for (int i = 0; i < 3; i++) uv_queue_work(uv_default_loop(), &requests[i], work, after);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return finished != 3;
}
