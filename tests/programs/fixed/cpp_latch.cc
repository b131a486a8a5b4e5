// A worker counts the std::latch down, whether or not it shall stop.

#include <latch>
#include <mutex>
#include <thread>

namespace {

std::latch done(1);
std::mutex lock;
bool stop = false;
int results = 0;

void work() {
    {
        std::lock_guard guard(lock);
        if (!stop) {
            results++;
        }
    }
    done.count_down();
}

void ask_to_stop() {
    std::lock_guard guard(lock);
    stop = true;
}

} // namespace

int main() {
    std::thread worker(work), stopper(ask_to_stop);
    done.wait();
    worker.join();
    stopper.join();
    return 0;
}
