// about: library of plugin.c, instrumented, loaded and unloaded while threads run.
// flags: -shared -fPIC
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

int plugin_add(int number) {
    pthread_mutex_lock(&lock);
    total += number;
    int seen = total;
    pthread_mutex_unlock(&lock);
    return seen;
}
