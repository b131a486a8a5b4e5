// A static local variable is initialised under a mutex that its constructor takes too.
// Deadlocks if `report` takes the mutex before the initialisation by `open` is over.

#include <mutex>
#include <thread>

namespace {

std::mutex lock;
int opened = 0, reports = 0;

struct Files {
    Files() {
        std::lock_guard guard(lock);
        opened++;
    }
};

Files &files() {
    static Files instance;
    return instance;
}

void open() {
    files();
}

void report() {
    std::lock_guard guard(lock);
    files();
    reports++;
}

} // namespace

int main() {
    std::thread opener(open), reporter(report);
    opener.join();
    reporter.join();
    return opened != 1 || reports != 1;
}
