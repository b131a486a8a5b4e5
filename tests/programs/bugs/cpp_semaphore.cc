// A permit of a std::counting_semaphore is not given back on the path for errors.
// Deadlocks if the file is closed before it is read: main waits for a permit that nobody gives back.

#include <mutex>
#include <semaphore>
#include <thread>

namespace {

std::counting_semaphore<1> permits(1);
std::mutex lock;
bool closed = false;
int reads = 0;

bool read_file() {
    std::lock_guard guard(lock);
    reads += !closed;
    return !closed;
}

void fail_if_closed() {
    permits.acquire();
    if (!read_file()) {
        return;
    }
    permits.release();
}

void close_file() {
    std::lock_guard guard(lock);
    closed = true;
}

} // namespace

int main() {
    std::thread failing(fail_if_closed), closing(close_file);
    failing.join();
    permits.acquire();
    permits.release();
    closing.join();
    return 0;
}
