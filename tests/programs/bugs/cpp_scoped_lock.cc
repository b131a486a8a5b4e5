// A std::scoped_lock adopts two mutexes although only one of them could be taken.
// Shows if the other thread holds the second mutex: it is unlocked by a thread that does not hold it.

#include <mutex>
#include <thread>

namespace {

std::mutex first, second;
int both, one, skipped;

void use_both_if_possible() {
    first.lock();
    skipped += !second.try_lock();
    std::scoped_lock adopted(std::adopt_lock, first, second);
    both++;
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
