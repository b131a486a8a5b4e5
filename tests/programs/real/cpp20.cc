// A C++20 program: thread, async, promise, latch, barrier, semaphore, stop_token, shared_mutex, condition_variable_any,
// call_once, atomic wait. Its output is always the same: nothing depends on time or on who is first.

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

void threads() {
    std::mutex lock;
    int count = 0;
    std::vector<std::thread> workers;
    for (int i = 0; i < 3; i++) {
        workers.emplace_back([&] {
            for (int round = 0; round < 4; round++) {
                std::scoped_lock guard(lock);
                count++;
            }
        });
    }
    for (auto &worker : workers) {
        worker.join();
    }
    std::printf("threads: %d\n", count);
}

void futures() {
    std::vector<std::future<int>> parts;
    for (int part = 0; part < 3; part++) {
        parts.push_back(std::async(std::launch::async, [part] { return part * part; }));
    }
    int sum = 0;
    for (auto &part : parts) {
        sum += part.get();
    }
    std::promise<int> promise;
    auto answer = promise.get_future();
    std::thread giver([&] { promise.set_value(42); });
    std::printf("futures: %d %d\n", sum, answer.get());
    giver.join();
}

void latch() {
    constexpr int workers = 3;
    std::latch done(workers), go_home(1);
    std::vector<int> results(workers);
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < workers; i++) {
            threads.emplace_back([&, i] {
                results[i] = i + 1;
                done.count_down();
                go_home.wait();
            });
        }
        done.wait();
        std::printf("latch: %d\n", std::accumulate(results.begin(), results.end(), 0));
        go_home.count_down();
    }
}

void barrier() {
    constexpr int workers = 3;
    std::vector<int> values(workers, 1);
    std::vector<int> sums;
    std::barrier phase(workers, [&]() noexcept { sums.push_back(std::accumulate(values.begin(), values.end(), 0)); });
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < workers; i++) {
            threads.emplace_back([&, i] {
                for (int round = 0; round < 3; round++) {
                    values[i] += i;
                    phase.arrive_and_wait();
                }
            });
        }
    }
    std::printf("barrier: %d %d %d\n", sums[0], sums[1], sums[2]);
}

void semaphore() {
    std::counting_semaphore<2> places(2);
    std::binary_semaphore ping(1), pong(0);
    std::atomic<int> inside = 0;
    std::atomic<bool> too_many = false;
    int turns = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 3; i++) {
            threads.emplace_back([&] {
                places.acquire();
                if (++inside > 2) {
                    too_many = true;
                }
                --inside;
                places.release();
            });
        }
        threads.emplace_back([&] {
            for (int i = 0; i < 3; i++) {
                pong.acquire();
                turns++;
                ping.release();
            }
        });
        for (int i = 0; i < 3; i++) {
            ping.acquire();
            turns++;
            pong.release();
        }
    }
    std::printf("semaphore: %d %s\n", turns, too_many ? "too many" : "fine");
}

void stop() {
    std::mutex lock;
    std::condition_variable_any changed;
    int callbacks = 0;
    bool stopped = false;
    {
        std::jthread worker([&](std::stop_token token) {
            std::unique_lock guard(lock);
            stopped = !changed.wait(guard, token, [] { return false; });
        });
        std::stop_callback callback(worker.get_stop_token(), [&] { callbacks++; });
        worker.request_stop();
    }
    std::printf("stop: %s, %d callback\n", stopped ? "stopped" : "not stopped", callbacks);
}

void shared() {
    std::shared_mutex lock;
    std::condition_variable_any changed;
    int value = 0, seen[2] = {};
    {
        std::vector<std::jthread> readers;
        for (int i = 0; i < 2; i++) {
            readers.emplace_back([&, i] {
                std::shared_lock guard(lock);
                changed.wait(guard, [&] { return value == 3; });
                seen[i] = value;
            });
        }
        for (int i = 0; i < 3; i++) {
            std::unique_lock guard(lock);
            value++;
            changed.notify_all();
        }
    }
    std::printf("shared: %d %d\n", seen[0], seen[1]);
}

int initialised() {
    static const int value = [] { return 7; }();
    return value;
}

void once() {
    std::once_flag flag;
    std::atomic<int> sum = 0;
    int runs = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 3; i++) {
            threads.emplace_back([&] {
                std::call_once(flag, [&] { runs++; });
                sum += initialised();
            });
        }
    }
    std::printf("once: %d %d\n", runs, sum.load());
}

void atomic_wait() {
    std::atomic<int> turn = 0;
    {
        std::jthread other([&] {
            turn.wait(0);
            turn = 2;
            turn.notify_one();
        });
        turn = 1;
        turn.notify_one();
        turn.wait(1);
    }
    std::printf("atomic wait: %d\n", turn.load());
}

} // namespace

int main() {
    threads();
    futures();
    latch();
    barrier();
    semaphore();
    stop();
    shared();
    once();
    atomic_wait();
    return 0;
}
