/* Every atomic operation of every size, checked against plain arithmetic. */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned __int128 u128;

#define EXPECT(condition)                          \
  do {                                             \
    if (!(condition)) {                            \
      printf("line %d: %s\n", __LINE__, #condition); \
      exit(1);                                     \
    }                                              \
  } while (0)

#define WIDE(type, high, low) ((type)((((u128)(high)) << 64) | (low)))

#define FETCH(type, operation, expression)                                    \
  {                                                                           \
    type old = a, operand = b;                                                \
    type at = old;                                                            \
    EXPECT(__atomic_fetch_##operation(&at, operand, __ATOMIC_ACQ_REL) == old); \
    EXPECT(at == (type)(expression));                                         \
  }

#define TEST(type)                                                             \
  static void test_##type(void) {                                              \
    static type cell;                                                          \
    type a = WIDE(type, 0x8123456789abcdefULL, 0xfedcba9876543210ULL);         \
    type b = WIDE(type, 0x7fffffffffffffffULL, 0xffffffffffffffedULL);         \
    __atomic_store_n(&cell, a, __ATOMIC_SEQ_CST);                              \
    EXPECT(__atomic_load_n(&cell, __ATOMIC_ACQUIRE) == a);                     \
    __atomic_store_n(&cell, b, __ATOMIC_RELAXED);                              \
    EXPECT(__atomic_load_n(&cell, __ATOMIC_RELAXED) == b);                     \
    EXPECT(__atomic_exchange_n(&cell, a, __ATOMIC_ACQ_REL) == b);              \
    EXPECT(cell == a);                                                         \
    FETCH(type, add, old + operand)                                            \
    FETCH(type, sub, old - operand)                                            \
    FETCH(type, and, old &operand)                                             \
    FETCH(type, or, old | operand)                                             \
    FETCH(type, xor, old ^ operand)                                            \
    FETCH(type, nand, ~(old & operand))                                        \
    type expected = b;                                                         \
    EXPECT(!__atomic_compare_exchange_n(&cell, &expected, b, 0,                \
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));  \
    EXPECT(expected == a && cell == a);                                        \
    EXPECT(__atomic_compare_exchange_n(&cell, &expected, b, 0,                 \
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));   \
    EXPECT(cell == b);                                                         \
    expected = b;                                                              \
    while (!__atomic_compare_exchange_n(&cell, &expected, a, 1,                \
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) { \
    }                                                                          \
    EXPECT(cell == a && expected == b);                                        \
  }

TEST(u8)
TEST(u16)
TEST(u32)
TEST(u64)
TEST(u128)

int main(void) {
  test_u8();
  test_u16();
  test_u32();
  test_u64();
  test_u128();
  puts("ok");
  return 0;
}
