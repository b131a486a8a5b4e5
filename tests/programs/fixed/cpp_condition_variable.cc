// A std::condition_variable is waited on with a predicate.

#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

std::mutex lock;
std::condition_variable changed;
bool ready = false;

void await() {
    std::unique_lock guard(lock);
    changed.wait(guard, [] { return ready; });
}

void announce() {
    std::lock_guard guard(lock);
    ready = true;
    changed.notify_one();
}

} // namespace

int main() {
    std::thread waiter(await), announcer(announce);
    waiter.join();
    announcer.join();
    return 0;
}
