// The end of a std::jthread asks it to stop, but nobody wakes it from its condition variable.
// Deadlocks if the thread waits before main is done.

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
    }
    return 0;
}
