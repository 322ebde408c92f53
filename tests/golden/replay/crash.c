// primitive: replay of a crash
// kind: failure
// lines: 22 32
// exit: 0 139
// about: a reader checks the pointer and then follows it; if the other thread clears it in between, the reader dies of SIGSEGV.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    int key;
    char text[12];
};
static struct entry *volatile current;

static void *read_entry(void *arg) {
    int sum = 0;
    (void)arg;
    for (int i = 0; i < 6; i++)
        if (current)
            sum += current->key;
    return (void *)(long)(sum >= 0);
}

static void *replace_entry(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        struct entry *fresh = malloc(sizeof *fresh);
        fresh->key = i;
        strcpy(fresh->text, "entry");
        current = NULL;
        current = fresh;
    }
    return NULL;
}

int main(void) {
    pthread_t reader, writer;
    pthread_create(&writer, NULL, replace_entry, NULL);
    pthread_create(&reader, NULL, read_entry, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    puts("survived");
    return 0;
}
