// A parallel sort of the standard library.
#include <algorithm>
#include <execution>
#include <vector>

int main() {
    std::vector<int> values;
    for (int i = 0; i < 3000; i++) values.push_back(i * 7919 % 3001);
    std::sort(std::execution::par, values.begin(), values.end());
    return !std::is_sorted(values.begin(), values.end());
}
