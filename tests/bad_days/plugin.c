// about: loads an instrumented library (plugin_lib.c, path in the first argument), uses it from two threads, unloads it, three times over.
// exit: 0
// flags: -ldl
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static int (*add)(int);

static void *work(void *arg) {
    for (int i = 0; i < 3; i++)
        add(*(int *)arg);
    return NULL;
}

int main(int argc, char **argv) {
    int sum = 0, numbers[2] = {1, 10};
    if (argc < 2) {
        fprintf(stderr, "usage: plugin LIBRARY\n");
        return 2;
    }
    for (int round = 0; round < 3; round++) {
        pthread_t team[2];
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        *(void **)&add = dlsym(library, "plugin_add");
        if (!add) return 2;
        for (int i = 0; i < 2; i++)
            pthread_create(&team[i], NULL, work, &numbers[i]);
        for (int i = 0; i < 2; i++)
            pthread_join(team[i], NULL);
        sum += add(0);
        dlclose(library);
    }
    printf("sum %d\n", sum);
    return 0;
}
