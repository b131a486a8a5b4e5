// A thread that finds its queue empty has nothing to do.

#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

std::mutex lock;
int items = 0;

void produce() {
    std::lock_guard guard(lock);
    items++;
}

void consume() {
    std::lock_guard guard(lock);
    if (items == 0) {
        return;
    }
    items--;
}

} // namespace

int main() {
    std::thread producer(produce), consumer(consume);
    producer.join();
    consumer.join();
    return 0;
}
