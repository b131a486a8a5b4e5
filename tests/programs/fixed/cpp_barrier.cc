// A worker that finds no work drops out of the std::barrier.

#include <barrier>
#include <mutex>
#include <thread>

namespace {

std::barrier end_of_phase(2);
std::mutex lock;
int work = 1;

bool take() {
    std::lock_guard guard(lock);
    return work > 0 && work-- > 0;
}

void fussy() {
    if (take()) {
        end_of_phase.arrive_and_wait();
    } else {
        end_of_phase.arrive_and_drop();
    }
}

void patient() {
    take();
    end_of_phase.arrive_and_wait();
}

} // namespace

int main() {
    std::thread a(fussy), b(patient);
    a.join();
    b.join();
    return 0;
}
