// Two threads let go of what they share: who is last destroys it, and no call shows that order.
#include <cassert>
#include <memory>
#include <mutex>
#include <thread>

static std::mutex lock;
static int destroyed;

struct Shared {
    ~Shared()
    {
        std::lock_guard<std::mutex> guard(lock);
        destroyed++;
    }
};

int main()
{
    auto shared = std::make_shared<Shared>();
    std::thread first([own = shared]() mutable { own.reset(); });
    std::thread second([own = std::move(shared)]() mutable { own.reset(); });
    first.join();
    second.join();
    assert(destroyed == 1);
}
