// A thread throws if its queue is empty, and nothing catches the exception.
// std::terminate calls abort if the consumer locks before the producer.

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
        throw std::runtime_error("the queue is empty");
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
