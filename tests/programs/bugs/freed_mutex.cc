// Who does not drop the last share of an object takes its lock once more, when the object may be gone.
// A misuse if the other thread looks at it again after it was deleted.

#include <mutex>
#include <thread>

struct Shared {
    std::mutex lock;
    int users = 2;
};

static void drop(Shared *shared) {
    shared->lock.lock();
    int left = --shared->users;
    if (left == 0) {
        shared->lock.unlock();
        delete shared;
        return;
    }
    shared->lock.unlock();
    shared->lock.lock();
    shared->lock.unlock();
}

int main() {
    Shared *shared = new Shared;
    std::thread worker(drop, shared);
    drop(shared);
    worker.join();
}
