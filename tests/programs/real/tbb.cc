// A sum over a range, by two threads of TBB.
#include <tbb/global_control.h>
#include <tbb/parallel_reduce.h>
#include <tbb/blocked_range.h>

int main() {
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
    int sum = tbb::parallel_reduce(
        tbb::blocked_range<int>(0, 8, 4), 0,
        [](const tbb::blocked_range<int> &range, int sum) {
            for (int i = range.begin(); i != range.end(); i++) sum += i;
            return sum;
        },
        [](int a, int b) { return a + b; });
    return sum != 28;
}
