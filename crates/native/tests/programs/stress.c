/* Makes a compiler emit as many kinds of hooks as it can; compiled, never run. */
#include <string.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned __int128 u128;

#define ATOMICS(type)                                                         \
  type atomics_##type(type *at, type value, type *expected, int order) {      \
    type sum = __atomic_load_n(at, __ATOMIC_ACQUIRE);                         \
    __atomic_store_n(at, value, __ATOMIC_RELEASE);                            \
    sum += __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);                  \
    sum += __atomic_fetch_add(at, value, order);                              \
    sum += __atomic_fetch_sub(at, value, __ATOMIC_RELAXED);                   \
    sum += __atomic_fetch_and(at, value, __ATOMIC_RELAXED);                   \
    sum += __atomic_fetch_or(at, value, __ATOMIC_RELAXED);                    \
    sum += __atomic_fetch_xor(at, value, __ATOMIC_RELAXED);                   \
    sum += __atomic_fetch_nand(at, value, __ATOMIC_RELAXED);                  \
    sum += __atomic_add_fetch(at, value, __ATOMIC_SEQ_CST);                   \
    sum += __sync_fetch_and_add(at, value);                                   \
    sum += __sync_val_compare_and_swap(at, value, *expected);                 \
    sum += __atomic_compare_exchange_n(at, expected, value, 0, 5, 0);         \
    sum += __atomic_compare_exchange_n(at, expected, value, 1, 5, 5);         \
    return sum;                                                               \
  }

struct __attribute__((packed)) packed_u8 { char pad; u8 at; };

#define ACCESSES(type)                                                        \
  struct __attribute__((packed)) unaligned_##type { char pad; type at; };     \
  type read_##type(type *at) { return *at; }                                  \
  void write_##type(type *at, type value) { *at = value; }                    \
  void bump_##type(type *at) { *at += 3; }                                    \
  type volatile_##type(volatile type *at) { return *at; }                     \
  void volatile_write_##type(volatile type *at) { *at = 1; }                  \
  type unaligned_read_##type(struct unaligned_##type *s) { return s->at; }    \
  void unaligned_write_##type(struct unaligned_##type *s) { s->at = 2; }      \
  void unaligned_bump_##type(struct unaligned_##type *s) { s->at += 2; }      \
  type unaligned_volatile_##type(volatile struct unaligned_##type *s) {       \
    s->at = 1;                                                                \
    return s->at;                                                             \
  }

#define BOTH(type) ATOMICS(type) ACCESSES(type)

BOTH(u8)
BOTH(u16)
BOTH(u32)
BOTH(u64)
BOTH(u128)

struct large { char bytes[300]; };
void copy_struct(struct large *to, struct large *from) { *to = *from; }
void clear_struct(struct large *to) { memset(to, 0, sizeof *to); }
void move(char *to, char *from, unsigned long size) { memmove(to, from, size); }
void copy(char *to, char *from, unsigned long size) { memcpy(to, from, size); }

void fences(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __sync_synchronize();
}

_Bool flags(_Bool *flag, void **pointer) {
  __atomic_store_n(pointer, (void *)0, __ATOMIC_RELEASE);
  __atomic_clear(flag, __ATOMIC_RELEASE);
  return __atomic_test_and_set(flag, __ATOMIC_ACQUIRE);
}
