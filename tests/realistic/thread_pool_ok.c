// kind: ok
// about: finished jobs are counted under the lock
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 2, JOBS = 4 };

struct pool {
    pthread_mutex_t lock;
    int next;
    int finished;
    int results[JOBS];
};

static struct pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int take(struct pool *from) {
    pthread_mutex_lock(&from->lock);
    int job = from->next < JOBS ? from->next++ : -1;
    pthread_mutex_unlock(&from->lock);
    return job;
}

static void finish(struct pool *in, int job) {
    in->results[job] = job * job;
    pthread_mutex_lock(&in->lock);
    in->finished++;
    pthread_mutex_unlock(&in->lock);
}

static void *work(void *unused) {
    for (int job; (job = take(&pool)) >= 0;)
        finish(&pool, job);
    return unused;
}

int main(void) {
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    assert(pool.finished == JOBS);
    puts("done");
    return 0;
}
