// about: OpenMP, whose library synchronises out of sight: parallel for, critical, barrier and reduction, all in order.
// exit: 0
// flags: -fopenmp
#include <omp.h>
#include <stdio.h>

enum { N = 64 };

int main(void) {
    int squares[N], sum = 0, most = 0, after = 0, seen[2] = {0, 0};
    omp_set_dynamic(0);
    omp_set_num_threads(2);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        squares[i] = i * i;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        sum += squares[i];
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < N; i++) {
#pragma omp critical
        if (squares[i] > most)
            most = squares[i];
    }
#pragma omp parallel shared(after, seen)
    {
        if (omp_get_thread_num() == 0)
            after = 7;
#pragma omp barrier
        seen[omp_get_thread_num()] = after;
    }
    printf("sum %d most %d seen %d\n", sum, most, seen[0]);
    return 0;
}
