// Two tasks of std::async under one lock.
#include <future>
#include <mutex>

int main() {
    std::mutex lock;
    int sum = 0;
    auto add = [&](int n) {
        std::lock_guard<std::mutex> guard(lock);
        sum += n;
        return n;
    };
    auto one = std::async(std::launch::async, add, 1), two = std::async(std::launch::async, add, 2);
    return one.get() + two.get() != 3 || sum != 3;
}
