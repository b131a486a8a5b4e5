// Whether a value is cached is looked up under the shared lock, and computed later under the exclusive lock.
// The assertion fails if both threads look before anyone computes.

#include <cassert>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

namespace {

std::shared_mutex lock;
std::optional<int> cache;
int computed = 0;

void get() {
    {
        std::shared_lock guard(lock);
        if (cache) {
            return;
        }
    }
    std::unique_lock guard(lock);
    cache = 42;
    computed++;
}

} // namespace

int main() {
    std::thread a(get), b(get);
    a.join();
    b.join();
    assert(computed == 1);
    return 0;
}
