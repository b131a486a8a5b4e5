// Two threads take two std::mutex one after the other, in opposite orders.
// Deadlocks if each has its first mutex before anyone takes its second.

#include <functional>
#include <mutex>
#include <thread>

namespace {

struct Account {
    std::mutex lock;
    int balance = 10;
};

void transfer(Account &from, Account &to) {
    std::lock_guard first(from.lock);
    std::lock_guard second(to.lock);
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
