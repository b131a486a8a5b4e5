// A worker waits for its order on a std::condition_variable_any and then counts down from it.
// Counts past zero and never ends if the order was withdrawn, which sets it to -1, before the worker looks.

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace {

std::shared_mutex lock;
std::condition_variable_any changed;
int order = 0;
volatile unsigned position;

void set_order(int value) {
    std::unique_lock guard(lock);
    order = value;
    changed.notify_one();
}

void work() {
    {
        std::shared_lock guard(lock);
        changed.wait(guard, [] { return order != 0; });
        position = static_cast<unsigned>(order);
    }
    while (position != 0) {
        position = position - 2;
    }
}

} // namespace

int main() {
    std::thread worker(work);
    set_order(4);
    std::thread withdrawer(set_order, -1);
    worker.join();
    withdrawer.join();
    return 0;
}
