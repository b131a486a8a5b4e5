// Whoever drops the last share of an object deletes it, and nobody else touches it afterwards.

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
}

int main() {
    Shared *shared = new Shared;
    std::thread worker(drop, shared);
    drop(shared);
    worker.join();
}
