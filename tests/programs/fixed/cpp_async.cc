// Main waits for the result of std::async before it takes the mutex that the task needs.

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
    int count = result.get();
    std::lock_guard guard(statistics);
    return count != 1 || tasks != 1;
}
