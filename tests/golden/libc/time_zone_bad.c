// primitive: localtime, asctime
// kind: race
// lines: 12 13
// tsan: may miss: libtsan does not look into these calls
// about: what localtime returns is the library's, and the same for all threads.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static void *work(void *arg) {
    time_t when = (time_t)(long)arg;
    struct tm *day = localtime(&when); // (1)
    return (void *)(long)day->tm_year; // (2)
}

int main(void) {
    pthread_t team[2];
    void *years[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&team[i], NULL, work, (void *)(i * 1000000000));
    for (int i = 0; i < 2; i++)
        pthread_join(team[i], &years[i]);
    printf("%ld %ld\n", (long)years[0], (long)years[1]);
    return 0;
}
