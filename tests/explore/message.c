// Data is published before the flag: a reader that sees the flag sees the data.
#include <assert.h>
#include <pthread.h>

int data, flag;

void *writer(void *arg) {
    data = 1;
    flag = 1;
    return arg;
}

void *reader(void *arg) {
    if (flag)
        assert(data == 1);
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, writer, 0);
    pthread_create(&two, 0, reader, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
