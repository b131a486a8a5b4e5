// Work that is posted to a pool of two threads of Asio.
#include <asio.hpp>
#include <mutex>

int main() {
    std::mutex lock;
    int done = 0;
    asio::thread_pool pool(2);
    for (int i = 0; i < 2; i++)
        asio::post(pool, [&] {
            std::lock_guard<std::mutex> guard(lock);
            done++;
        });
    pool.join();
    return done != 2;
}
