// primitive: setjmp, longjmp
// kind: race
// lines: 28 28
// about: after a jump out of deep calls the failures are counted without the lock.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int failures, successes;

static int parse(const char *text, int depth, jmp_buf *out) {
    if (text[depth] == '!')
        longjmp(*out, depth + 1);
    if (text[depth] == 0)
        return depth;
    return parse(text, depth + 1, out);
}

static void *work(void *arg) {
    jmp_buf out;
    if (setjmp(out) == 0) {
        parse(arg, 0, &out);
        pthread_mutex_lock(&lock);
        successes++;
        pthread_mutex_unlock(&lock);
    } else {
        failures++; // (1) (2)
    }
    return NULL;
}

int main(void) {
    static const char *const texts[3] = {"nested calls!", "deeper nested calls!", "fine"};
    pthread_t team[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&team[i], NULL, work, (void *)texts[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(team[i], NULL);
    printf("failures %d successes %d\n", failures, successes);
    return 0;
}
