// Main waits for the result of std::async under a mutex that the task still needs.
// Deadlocks if main locks after the task said that it is nearly done and before the task counts itself.

#include <condition_variable>
#include <future>
#include <mutex>

namespace {

std::mutex lock, statistics;
std::condition_variable changed;
bool nearly_done = false;
int tasks = 0;

int task() {
    {
        std::lock_guard guard(lock);
        nearly_done = true;
        changed.notify_one();
    }
    std::lock_guard guard(statistics);
    return ++tasks;
}

} // namespace

int main() {
    std::future<int> result = std::async(std::launch::async, task);
    {
        std::unique_lock guard(lock);
        changed.wait(guard, [] { return nearly_done; });
    }
    std::lock_guard guard(statistics);
    return result.get() != 1;
}
