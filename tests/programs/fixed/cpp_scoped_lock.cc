// A std::scoped_lock adopts two mutexes only if both were taken.

#include <mutex>
#include <thread>

namespace {

std::mutex first, second;
int both, one;

void use_both_if_possible() {
    if (std::try_lock(first, second) == -1) {
        std::scoped_lock adopted(std::adopt_lock, first, second);
        both++;
    }
}

void use_one() {
    std::scoped_lock guard(second);
    one++;
}

} // namespace

int main() {
    std::thread greedy(use_both_if_possible), modest(use_one);
    greedy.join();
    modest.join();
    return 0;
}
