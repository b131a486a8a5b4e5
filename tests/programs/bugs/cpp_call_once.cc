// The routine of std::call_once throws if the file is not there yet, and the caller gives up.
// Exits with 8 if the routine runs before main has made the file.

#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

std::once_flag once;
std::mutex lock;
bool file_there = false;
int status = 0;

void open() {
    std::lock_guard guard(lock);
    if (!file_there) {
        throw std::runtime_error("no file");
    }
}

void work() {
    try {
        std::call_once(once, open);
    } catch (const std::runtime_error &) {
        status = 8;
    }
}

} // namespace

int main() {
    std::thread worker(work);
    {
        std::lock_guard guard(lock);
        file_there = true;
    }
    worker.join();
    return status;
}
