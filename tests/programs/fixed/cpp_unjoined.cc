// A std::jthread is joined by its destructor, also if the work before throws.

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

std::mutex lock;
int progress = 0;

void work() {
    std::lock_guard guard(lock);
    progress = 1;
}

void check() {
    std::lock_guard guard(lock);
    if (progress == 0) {
        throw std::runtime_error("no progress yet");
    }
}

} // namespace

int main() {
    try {
        std::jthread worker(work);
        check();
    } catch (const std::runtime_error &) {
        // The next run may see progress.
    }
    return 0;
}
