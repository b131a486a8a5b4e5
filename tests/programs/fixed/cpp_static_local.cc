// Nobody touches the static local variable first while it holds the mutex that its constructor takes.

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
    files();
    std::lock_guard guard(lock);
    reports++;
}

} // namespace

int main() {
    std::thread opener(open), reporter(report);
    opener.join();
    reporter.join();
    return opened != 1 || reports != 1;
}
