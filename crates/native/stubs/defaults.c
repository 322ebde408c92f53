/* What the hooks do while no runtime has taken them over: nothing, except the
 * operations that the compiler has replaced by the hook.
 *
 * Self-contained by intent (no libc, no libatomic): libtool links C++ libraries
 * with -nostdlib and its own list of libraries, and the archive must go there too.
 */
#include <stddef.h>

#define DEFAULT __attribute__((visibility("hidden"))) extern
#define DEFINE(result, name) \
  DEFAULT result reweave_default_##name

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned __int128 u128;

DEFINE(long, nothing)(void);
long reweave_default_nothing(void) { return 0; }

static char some_handle;
DEFINE(void *, handle)(void);
void *reweave_default_handle(void) { return &some_handle; }

DEFINE(const char *, query)(const char *);
const char *reweave_default_query(const char *question) {
  (void)question;
  return "0";
}

/* --- Memory. libc's functions where there is a libc (weak references), else
 * string instructions: a loop would be turned back into a call of the very
 * function that is missing. */

extern void *memmove(void *, const void *, size_t) __attribute__((weak));
extern void *memcpy(void *, const void *, size_t) __attribute__((weak));
extern void *memset(void *, int, size_t) __attribute__((weak));

static void copy_upwards(void *to, const void *from, size_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void copy_downwards(void *to, const void *from, size_t size) {
  char *last_to = (char *)to + size - 1;
  const char *last_from = (const char *)from + size - 1;
  __asm__ volatile("std; rep movsb; cld"
                   : "+D"(last_to), "+S"(last_from), "+c"(size)
                   :
                   : "memory");
}

DEFINE(void *, memcpy)(void *, const void *, size_t);
void *reweave_default_memcpy(void *to, const void *from, size_t size) {
  if (memcpy) return memcpy(to, from, size);
  copy_upwards(to, from, size);
  return to;
}

DEFINE(void *, memmove)(void *, const void *, size_t);
void *reweave_default_memmove(void *to, const void *from, size_t size) {
  if (memmove) return memmove(to, from, size);
  if ((size_t)((char *)to - (const char *)from) >= size)
    copy_upwards(to, from, size);
  else
    copy_downwards(to, from, size);
  return to;
}

DEFINE(void *, memset)(void *, int, size_t);
void *reweave_default_memset(void *to, int byte, size_t size) {
  if (memset) return memset(to, byte, size);
  void *at = to;
  __asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(byte) : "memory");
  return to;
}

/* --- Atomics. The order is a run-time argument here; sequential consistency is
 * right for each and costs the same as any other on x86, stores excepted. */

DEFINE(void, thread_fence)(int);
void reweave_default_thread_fence(int order) {
  if (order != __ATOMIC_RELAXED) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#define FETCH(bits, operation)                                                 \
  DEFINE(u##bits, atomic##bits##_fetch_##operation)                            \
  (volatile u##bits *, u##bits, int);                                          \
  u##bits reweave_default_atomic##bits##_fetch_##operation(                    \
      volatile u##bits *at, u##bits operand, int order) {                      \
    (void)order;                                                               \
    return __atomic_fetch_##operation(at, operand, __ATOMIC_SEQ_CST);          \
  }

#define ATOMICS(bits)                                                          \
  DEFINE(u##bits, atomic##bits##_load)(const volatile u##bits *, int);         \
  u##bits reweave_default_atomic##bits##_load(const volatile u##bits *at,      \
                                              int order) {                     \
    (void)order;                                                               \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                              \
  }                                                                            \
  DEFINE(void, atomic##bits##_store)(volatile u##bits *, u##bits, int);        \
  void reweave_default_atomic##bits##_store(volatile u##bits *at,              \
                                            u##bits value, int order) {        \
    if (order == __ATOMIC_RELAXED || order == __ATOMIC_RELEASE)                \
      __atomic_store_n(at, value, __ATOMIC_RELEASE);                           \
    else                                                                       \
      __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                           \
  }                                                                            \
  DEFINE(u##bits, atomic##bits##_exchange)(volatile u##bits *, u##bits, int);  \
  u##bits reweave_default_atomic##bits##_exchange(volatile u##bits *at,        \
                                                  u##bits value, int order) {  \
    (void)order;                                                               \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                   \
  }                                                                            \
  static int compare_exchange##bits(volatile u##bits *at, u##bits *expected,   \
                                    u##bits value) {                           \
    return __atomic_compare_exchange_n(at, expected, value, 0,                 \
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }                                                                            \
  FETCH(bits, add)                                                             \
  FETCH(bits, sub)                                                             \
  FETCH(bits, and)                                                             \
  FETCH(bits, or)                                                              \
  FETCH(bits, xor)                                                             \
  FETCH(bits, nand)

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

/* 128 bits: the __atomic builtins would call libatomic, __sync is inline
 * (-mcx16). A load is a compare-exchange of 0 by 0: it needs writable memory. */

static int compare_exchange128(volatile u128 *at, u128 *expected, u128 value) {
  u128 found = __sync_val_compare_and_swap(at, *expected, value);
  int done = found == *expected;
  *expected = found;
  return done;
}

DEFINE(u128, atomic128_load)(const volatile u128 *, int);
u128 reweave_default_atomic128_load(const volatile u128 *at, int order) {
  (void)order;
  return __sync_val_compare_and_swap((volatile u128 *)at, (u128)0, (u128)0);
}

#define LOOP128(name, expression)                                              \
  DEFINE(u128, atomic128_##name)(volatile u128 *, u128, int);                  \
  u128 reweave_default_atomic128_##name(volatile u128 *at, u128 operand,       \
                                        int order) {                           \
    u128 old = reweave_default_atomic128_load(at, order);                      \
    while (!compare_exchange128(at, &old, (expression))) {                     \
    }                                                                          \
    return old;                                                                \
  }

LOOP128(exchange, operand)
LOOP128(fetch_add, old + operand)
LOOP128(fetch_sub, old - operand)
LOOP128(fetch_and, old & operand)
LOOP128(fetch_or, old | operand)
LOOP128(fetch_xor, old ^ operand)
LOOP128(fetch_nand, ~(old & operand))

DEFINE(void, atomic128_store)(volatile u128 *, u128, int);
void reweave_default_atomic128_store(volatile u128 *at, u128 value, int order) {
  reweave_default_atomic128_exchange(at, value, order);
}

#define COMPARE_EXCHANGE(bits, strength)                                       \
  DEFINE(int, atomic##bits##_compare_exchange_##strength)                      \
  (volatile u##bits *, u##bits *, u##bits, int, int);                          \
  int reweave_default_atomic##bits##_compare_exchange_##strength(              \
      volatile u##bits *at, u##bits *expected, u##bits value, int success,     \
      int failure) {                                                           \
    (void)success;                                                             \
    (void)failure;                                                             \
    return compare_exchange##bits(at, expected, value);                        \
  }

#define COMPARE_EXCHANGES(bits)                                                \
  COMPARE_EXCHANGE(bits, strong)                                               \
  COMPARE_EXCHANGE(bits, weak)                                                 \
  DEFINE(u##bits, atomic##bits##_compare_exchange_val)                         \
  (volatile u##bits *, u##bits, u##bits, int, int);                            \
  u##bits reweave_default_atomic##bits##_compare_exchange_val(                 \
      volatile u##bits *at, u##bits expected, u##bits value, int success,      \
      int failure) {                                                           \
    (void)success;                                                             \
    (void)failure;                                                             \
    compare_exchange##bits(at, &expected, value);                              \
    return expected;                                                           \
  }

COMPARE_EXCHANGES(8)
COMPARE_EXCHANGES(16)
COMPARE_EXCHANGES(32)
COMPARE_EXCHANGES(64)
COMPARE_EXCHANGES(128)
