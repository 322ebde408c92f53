// A service in small: it runs for as long as it is told, and everything in it comes and goes. Workers are created and joined,
// others detached; locks, condition variables, heap blocks and pipes are made and destroyed all the time. Memory does
// not grow, so that whoever watches it for hours must not grow either. There is one race, in the counter of requests.
//
//     service ROUNDS
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 4, TABLE = 4096, REQUESTS = 200 };

static long table[TABLE];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static long requests;
static sem_t detached_done;

struct job {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    int done;
    int pipe[2];
    unsigned seed;
};

static unsigned next(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 8;
}

static void *work(void *argument) {
    struct job *job = argument;
    unsigned seed = job->seed;
    for (int i = 0; i < REQUESTS; i++) {
        unsigned size = 64 + next(&seed) % 512;
        char *block = malloc(size);
        for (unsigned j = 0; j < size; j += 8)
            block[j] = (char)j;
        pthread_mutex_t *own = malloc(sizeof *own);
        pthread_mutex_init(own, NULL);
        pthread_mutex_lock(own);
        long sum = 0;
        for (unsigned j = 0; j < size; j += 4)
            sum += block[j];
        pthread_mutex_unlock(own);
        pthread_mutex_destroy(own);
        free(own);
        pthread_mutex_lock(&table_lock);
        for (int j = 0; j < 16; j++)
            table[next(&seed) % TABLE] += sum + j;
        pthread_mutex_unlock(&table_lock);
        free(block);
    }
    requests += REQUESTS;
    char byte = 'x';
    if (write(job->pipe[1], &byte, 1) != 1)
        abort();
    pthread_mutex_lock(&job->lock);
    job->done = 1;
    pthread_cond_signal(&job->ready);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

static void *work_alone(void *argument) {
    long *block = argument;
    for (int i = 0; i < 64; i++)
        block[i] = i;
    free(block);
    sem_post(&detached_done);
    return NULL;
}

int main(int count, char **words) {
    long rounds = count > 1 ? atol(words[1]) : 10;
    sem_init(&detached_done, 0, 0);
    for (long round = 0; round < rounds; round++) {
        struct job *jobs = calloc(WORKERS, sizeof *jobs);
        pthread_t threads[WORKERS], alone;
        for (int i = 0; i < WORKERS; i++) {
            pthread_mutex_init(&jobs[i].lock, NULL);
            pthread_cond_init(&jobs[i].ready, NULL);
            jobs[i].seed = (unsigned)(round * WORKERS + i);
            if (pipe(jobs[i].pipe) != 0)
                abort();
            pthread_create(&threads[i], NULL, work, &jobs[i]);
        }
        pthread_create(&alone, NULL, work_alone, malloc(64 * sizeof(long)));
        pthread_detach(alone);
        for (int i = 0; i < WORKERS; i++) {
            char byte;
            pthread_mutex_lock(&jobs[i].lock);
            while (!jobs[i].done)
                pthread_cond_wait(&jobs[i].ready, &jobs[i].lock);
            pthread_mutex_unlock(&jobs[i].lock);
            if (read(jobs[i].pipe[0], &byte, 1) != 1)
                abort();
            pthread_join(threads[i], NULL);
            close(jobs[i].pipe[0]);
            close(jobs[i].pipe[1]);
            pthread_mutex_destroy(&jobs[i].lock);
            pthread_cond_destroy(&jobs[i].ready);
        }
        sem_wait(&detached_done);
        free(jobs);
    }
    printf("requests %ld\n", requests);
    return 0;
}
