// Exceptions are thrown and caught in two threads, across scheduling points, nested and rethrown.

#include <cassert>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::mutex lock;
int unwound = 0;

struct Unwound {
    ~Unwound() {
        std::lock_guard guard(lock);
        unwound++;
    }
};

[[noreturn]] void fail(int level, const std::string &name) {
    Unwound here;
    if (level > 0) {
        fail(level - 1, name);
    }
    throw std::runtime_error(name);
}

void work(const std::string &name, std::exception_ptr &last) {
    try {
        try {
            fail(1, name);
        } catch (const std::runtime_error &error) {
            assert(error.what() == name);
            {
                std::lock_guard guard(lock);
            }
            // Another thread may have thrown and caught since, and this is still the exception of this thread.
            assert(std::uncaught_exceptions() == 0);
            throw;
        }
    } catch (...) {
        last = std::current_exception();
    }
}

std::string message(std::exception_ptr error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception &caught) {
        return caught.what();
    }
}

} // namespace

int main() {
    std::exception_ptr errors[2];
    std::thread a(work, "first", std::ref(errors[0])), b(work, "second", std::ref(errors[1]));
    a.join();
    b.join();
    assert(message(errors[0]) == "first");
    assert(message(errors[1]) == "second");
    assert(unwound == 4);
    return 0;
}
