#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int plain;
static atomic_int atomic_count;
static char copy[16];

static void *count(void *unused) {
  (void)unused;
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&lock);
    plain++;
    strcpy(copy, "hello");
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&atomic_count, 1);
    atomic_thread_fence(memory_order_seq_cst);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  printf("plain %d atomic %d copy %s\n", plain, atomic_load(&atomic_count), copy);
  return 0;
}
