// The destructor of a joinable std::thread ends the program if the work before its join throws.
// std::terminate calls abort if main locks before the worker, and throws.

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
        std::thread worker(work);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        check();
        worker.join();
    } catch (const std::runtime_error &) {
        // The next run may see progress.
    }
    return 0;
}
