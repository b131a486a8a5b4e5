// Two threads take two std::mutex in one order.

#include <functional>
#include <mutex>
#include <thread>

namespace {

struct Account {
    std::mutex lock;
    int balance = 10;
};

void transfer(Account &from, Account &to) {
    // Not std::scoped_lock: it tries and backs off, which has schedules of any length.
    std::lock_guard first(&from < &to ? from.lock : to.lock);
    std::lock_guard second(&from < &to ? to.lock : from.lock);
    from.balance -= 1;
    to.balance += 1;
}

} // namespace

int main() {
    Account accounts[2];
    std::thread there(transfer, std::ref(accounts[0]), std::ref(accounts[1]));
    std::thread back(transfer, std::ref(accounts[1]), std::ref(accounts[0]));
    there.join();
    back.join();
    return accounts[0].balance != 10;
}
