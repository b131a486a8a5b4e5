// Every thread has its own thread_local object, and its destructor runs when the thread ends.

#include <cassert>
#include <mutex>
#include <thread>

namespace {

std::mutex lock;
int constructed = 0, destroyed = 0;

struct Local {
    int value = 7;
    Local() {
        std::lock_guard guard(lock);
        constructed++;
    }
    ~Local() {
        std::lock_guard guard(lock);
        destroyed += value;
    }
};

thread_local Local local;
thread_local int plain = 3;

void work(int add) {
    assert(plain == 3);
    plain += add;
    local.value += add;
    assert(local.value == 7 + add && plain == 3 + add);
}

} // namespace

int main() {
    std::thread a(work, 1), b(work, 2);
    a.join();
    b.join();
    assert(constructed == 2);
    assert(destroyed == 8 + 9);
    assert(plain == 3);
    return 0;
}
