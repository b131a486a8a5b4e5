// A box office: two counters sell the seats of one show.

#include <cassert>
#include <iostream>
#include <mutex>
#include <thread>

class Show {
public:
    explicit Show(int seats) : seats_(seats) {}

    bool has_seats() {
        std::lock_guard guard(mutex_);
        return seats_ > 0;
    }

    void sell() {
        std::lock_guard guard(mutex_);
        seats_ -= 1;
        assert(seats_ >= 0);
    }

private:
    std::mutex mutex_;
    int seats_;
};

static void counter(Show &show) {
    if (show.has_seats())
        show.sell();
}

int main() {
    Show show(1);
    std::thread other(counter, std::ref(show));
    counter(show);
    other.join();
    std::cout << (show.has_seats() ? "seats left" : "sold out") << '\n';
}
