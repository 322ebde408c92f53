// about: Fourier transform of a power of two of points; threads share each pass and meet at a barrier.
// usage: fft [points=65536] [threads=2]
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64 };

static int points = 65536, threads = 2;
static double *real, *imaginary;
static pthread_barrier_t pass;

static void *transform(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int half = points / 2; half >= 1; half /= 2) {
        int pairs = points / 2;
        for (int pair = (int)((long)pairs * me / threads); pair < (int)((long)pairs * (me + 1) / threads); pair++) {
            int within = pair % half, one = pair / half * half * 2 + within, two = one + half;
            double angle = -3.14159265358979323846 * within / half, cosine = cos(angle), sine = sin(angle);
            double r = real[one] - real[two], i = imaginary[one] - imaginary[two];
            real[one] += real[two];
            imaginary[one] += imaginary[two];
            real[two] = r * cosine - i * sine;
            imaginary[two] = r * sine + i * cosine;
        }
        pthread_barrier_wait(&pass);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) points = atoi(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (points < 2 || (points & (points - 1)) || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: fft [points, a power of two] [threads 1..%d]\n", MAX_THREADS);
        return 2;
    }
    real = malloc(points * sizeof *real);
    imaginary = calloc(points, sizeof *imaginary);
    if (!real || !imaginary) return 2;
    for (int i = 0; i < points; i++) real[i] = i % 17;
    pthread_barrier_init(&pass, NULL, threads);
    pthread_t thread[MAX_THREADS];
    for (intptr_t i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, transform, (void *)i)) return 2;
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    printf("%.3f %.3f\n", real[1], imaginary[1]);
    return 0;
}
