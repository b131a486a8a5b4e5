// An atomic variable is read and written in two steps, so an update can be lost. That is no data race, and no call shows it.
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

static std::atomic<int> count{0};
static std::mutex lock;
static int done;

static void update()
{
    int value = count.load();
    count.store(value + 1);
    std::lock_guard<std::mutex> guard(lock);
    done++;
}

int main()
{
    std::thread first(update), second(update);
    first.join();
    second.join();
    assert(count == 2 && done == 2);
}
