// The routine of std::call_once makes the file itself if it is not there yet.

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
    file_there = true;
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
