// Whoever asks the std::jthread to stop wakes it too.

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace {

std::mutex lock;
std::condition_variable changed;
int jobs = 0;

void work(std::stop_token stop) {
    std::unique_lock guard(lock);
    while (jobs == 0 && !stop.stop_requested()) {
        changed.wait(guard);
    }
}

} // namespace

int main() {
    std::jthread worker(work);
    {
        std::lock_guard guard(lock);
        // Under the lock, so that it cannot come between the worker's look and its wait.
        worker.request_stop();
        changed.notify_one();
    }
    return 0;
}
