// An OpenMP program: parallel for, reduction, critical, atomic, barrier, single, tasks. Its output is always the same.

#include <omp.h>
#include <stdio.h>

enum { N = 64 };

static int fibonacci(int n) {
    if (n < 2) {
        return n;
    }
    int a, b;
#pragma omp task shared(a) if (n > 4)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 4)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    int squares[N], sum = 0, largest = 0, rounds = 0, threads = 0, phases[2] = {0, 0}, number = 0;
    omp_set_num_threads(2);

#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
        squares[i] = i * i;
    }

#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 8)
    for (int i = 0; i < N; i++) {
        sum += squares[i];
    }

#pragma omp parallel for
    for (int i = 0; i < N; i++) {
#pragma omp critical
        if (squares[i] > largest) {
            largest = squares[i];
        }
    }

#pragma omp parallel
    {
#pragma omp atomic
        rounds++;
#pragma omp barrier
        // All have counted, and nobody counts again before all have looked.
        int seen = rounds;
#pragma omp critical(first)
        phases[0] += seen;
#pragma omp barrier
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp critical(second)
        phases[1] += threads;
    }

#pragma omp parallel
#pragma omp single
    number = fibonacci(10);

    printf("sum %d\nlargest %d\nthreads %d\n", sum, largest, threads);
    printf("phases %d %d\nfibonacci %d\n", phases[0], phases[1], number);
    return 0;
}
