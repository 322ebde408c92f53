/* Formatted output and input.
 *
 * These functions are variadic, which stable Rust can call but not define. Each
 * shim_NAME here is what the exported NAME jumps to (calls/format.rs), so its
 * return address is the program's. Everything that touches the model goes
 * through the __reweave_ functions of that file.
 *
 * A recorded call is one unit: the scheduler is asked when it begins, and the
 * strings it reads and the memory it fills are recorded without asking again.
 * Formats with positional arguments ("%2$s") are not looked into.
 */

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Whether the call is recorded; then __reweave_end must follow. */
extern int __reweave_begin(void);
extern void __reweave_end(void);
extern void __reweave_read(const void *at, size_t size, uint64_t pc);
extern void __reweave_wrote(const void *at, size_t size, uint64_t pc);
/* A block of the program's own. */
extern void *__reweave_allocate(size_t size, uint64_t pc);
/* Waits until a stream has something to read. 0: interrupted by a signal. */
extern int __reweave_await_input(FILE *stream, uint64_t pc);
extern void __reweave_output(FILE *stream, size_t size, uint64_t pc);
extern void *__reweave_real(void **cell, const char *name);

#define SHIM __attribute__((visibility("hidden")))
#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))
/* libc's own function. */
#define REAL(name, type)                   \
  ({                                       \
    static void *cell;                     \
    (type) __reweave_real(&cell, name);    \
  })

/* One conversion of a format. */
struct conversion {
  bool suppressed; /* scanf: '*' */
  bool allocates;  /* scanf: 'm' */
  long width;      /* -1: none */
  long precision;  /* -1: none */
  int bytes;       /* size of an integer of this length */
  bool is_long;    /* 'l' */
  bool is_huge;    /* 'L' */
  char letter;     /* 0: not understood, or the end */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static long number(const char **at) {
  long value = 0;
  while (is_digit(**at)) value = value * 10 + (*(*at)++ - '0');
  return value;
}

static void length_modifier(const char **at, struct conversion *out) {
  out->bytes = sizeof(int);
  for (;; (*at)++) {
    switch (**at) {
      case 'h': out->bytes = out->bytes == 2 ? 1 : 2; break;
      case 'l': out->is_long = true; out->bytes = 8; break;
      case 'L': out->is_huge = true; out->bytes = 8; break;
      case 'q': case 'j': case 'z': case 't': case 'Z': out->bytes = 8; break;
      default: return;
    }
  }
}

/* Every argument below eight bytes has a slot of its own, so `long` takes any. */
#define TAKE_WORD(list) va_arg(list, long)

/* The next conversion of a printf format; takes '*' arguments. */
static struct conversion next_printed(const char **at, va_list list) {
  struct conversion out = {.width = -1, .precision = -1};
  *at = strchrnul(*at, '%');
  if (**at == 0) return out;
  ++*at;
  while (**at && strchr("-+ #0'I", **at)) ++*at;
  if (**at == '*') {
    ++*at;
    out.width = (int)TAKE_WORD(list);
  } else {
    out.width = number(at);
  }
  if (**at == '$') return out;
  if (**at == '.') {
    ++*at;
    if (**at == '*') {
      ++*at;
      out.precision = (int)TAKE_WORD(list);
    } else {
      out.precision = number(at);
    }
  }
  length_modifier(at, &out);
  out.letter = **at;
  if (**at) ++*at;
  return out;
}

static void read_text(const char *text, long limit, uint64_t pc) {
  if (!text) return;
  size_t length = limit < 0 ? strlen(text) : strnlen(text, (size_t)limit);
  /* The terminator is looked at unless the limit came first. */
  __reweave_read(text, limit < 0 || length < (size_t)limit ? length + 1 : length, pc);
}

/* Records the strings that a printf reads; `%n` is recorded by the second walk. */
static void walk_printed(const char *format, va_list arguments, bool writes, uint64_t pc) {
  va_list list;
  va_copy(list, arguments);
  for (const char *at = format;;) {
    struct conversion one = next_printed(&at, list);
    switch (one.letter) {
      case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'c': case 'C': case 'p':
        (void)TAKE_WORD(list);
        continue;
      case 'e': case 'f': case 'g': case 'a': case 'E': case 'F': case 'G': case 'A':
        if (one.is_huge) (void)va_arg(list, long double);
        else (void)va_arg(list, double);
        continue;
      case 's': {
        const char *text = va_arg(list, const char *);
        if (!writes && !one.is_long) read_text(text, one.precision, pc);
        continue;
      }
      case 'S':
        (void)TAKE_WORD(list);
        continue;
      case 'n': {
        void *count = va_arg(list, void *);
        if (writes) __reweave_wrote(count, one.bytes, pc);
        continue;
      }
      case 'm': case '%':
        continue;
      default:
        va_end(list);
        return;
    }
  }
}

/* --- sprintf and its kin ---------------------------------------------------- */

/* `flag` below 0: not the checking variant. `limited`: `size` bytes at most. */
static int into_memory(char *to, bool limited, size_t size, int flag, size_t room, const char *format, va_list list,
                       uint64_t pc) {
  bool recorded = __reweave_begin();
  va_list again;
  va_copy(again, list);
  if (recorded) walk_printed(format, list, false, pc);
  int length;
  if (limited && flag < 0)
    length = REAL("vsnprintf", int (*)(char *, size_t, const char *, va_list))(to, size, format, list);
  else if (limited)
    length = REAL("__vsnprintf_chk", int (*)(char *, size_t, int, size_t, const char *, va_list))(to, size, flag, room,
                                                                                                 format, list);
  else if (flag < 0)
    length = REAL("vsprintf", int (*)(char *, const char *, va_list))(to, format, list);
  else
    length = REAL("__vsprintf_chk", int (*)(char *, int, size_t, const char *, va_list))(to, flag, room, format, list);
  if (recorded) {
    int saved = errno;
    size_t written = length < 0 ? 0 : (size_t)length + 1;
    if (limited && written > size) written = size;
    __reweave_wrote(to, written, pc);
    walk_printed(format, again, true, pc);
    errno = saved;
    __reweave_end();
  }
  va_end(again);
  return length;
}

static int into_block(char **out, int flag, const char *format, va_list list, uint64_t pc) {
  bool recorded = __reweave_begin();
  if (recorded) walk_printed(format, list, false, pc);
  int length;
  if (flag < 0)
    length = REAL("vasprintf", int (*)(char **, const char *, va_list))(out, format, list);
  else
    length = REAL("__vasprintf_chk", int (*)(char **, int, const char *, va_list))(out, flag, format, list);
  if (recorded) {
    if (length >= 0) {
      /* libc allocated it where nobody saw: the program gets a block that the trace knows. */
      char *text = *out;
      char *block = __reweave_allocate((size_t)length + 1, pc);
      if (block) memcpy(block, text, (size_t)length + 1);
      else length = -1;
      free(text);
      *out = block;
      if (block) __reweave_wrote(block, (size_t)length + 1, pc);
      __reweave_wrote(out, sizeof *out, pc);
    }
    __reweave_end();
  }
  return length;
}

/* --- printf and its kin ----------------------------------------------------- */

static int into_stream(FILE *stream, int descriptor, int flag, const char *format, va_list list, uint64_t pc) {
  bool recorded = __reweave_begin();
  int old = 0;
  if (recorded) {
    walk_printed(format, list, false, pc);
    /* A cancellation would unwind past __reweave_end. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
  }
  int length;
  if (stream && flag < 0)
    length = REAL("vfprintf", int (*)(FILE *, const char *, va_list))(stream, format, list);
  else if (stream)
    length = REAL("__vfprintf_chk", int (*)(FILE *, int, const char *, va_list))(stream, flag, format, list);
  else if (flag < 0)
    length = REAL("vdprintf", int (*)(int, const char *, va_list))(descriptor, format, list);
  else
    length = REAL("__vdprintf_chk", int (*)(int, int, const char *, va_list))(descriptor, flag, format, list);
  if (recorded) {
    int saved = errno;
    pthread_setcancelstate(old, NULL);
    if (stream && length > 0) __reweave_output(stream, (size_t)length, pc);
    errno = saved;
    __reweave_end();
  }
  return length;
}

#define WITH_LIST(last, call)    \
  va_list list;                  \
  va_start(list, last);          \
  uint64_t pc = CALLER;          \
  int result = call;             \
  va_end(list);                  \
  return result

SHIM int shim_sprintf(char *to, const char *format, ...) {
  WITH_LIST(format, into_memory(to, false, 0, -1, 0, format, list, pc));
}
SHIM int shim_snprintf(char *to, size_t size, const char *format, ...) {
  WITH_LIST(format, into_memory(to, true, size, -1, 0, format, list, pc));
}
SHIM int shim_vsprintf(char *to, const char *format, va_list list) {
  return into_memory(to, false, 0, -1, 0, format, list, CALLER);
}
SHIM int shim_vsnprintf(char *to, size_t size, const char *format, va_list list) {
  return into_memory(to, true, size, -1, 0, format, list, CALLER);
}
SHIM int shim___sprintf_chk(char *to, int flag, size_t room, const char *format, ...) {
  WITH_LIST(format, into_memory(to, false, 0, flag, room, format, list, pc));
}
SHIM int shim___snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...) {
  WITH_LIST(format, into_memory(to, true, size, flag, room, format, list, pc));
}
SHIM int shim___vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list list) {
  return into_memory(to, false, 0, flag, room, format, list, CALLER);
}
SHIM int shim___vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, va_list list) {
  return into_memory(to, true, size, flag, room, format, list, CALLER);
}
SHIM int shim_asprintf(char **out, const char *format, ...) { WITH_LIST(format, into_block(out, -1, format, list, pc)); }
SHIM int shim_vasprintf(char **out, const char *format, va_list list) {
  return into_block(out, -1, format, list, CALLER);
}
SHIM int shim___asprintf_chk(char **out, int flag, const char *format, ...) {
  WITH_LIST(format, into_block(out, flag, format, list, pc));
}
SHIM int shim___vasprintf_chk(char **out, int flag, const char *format, va_list list) {
  return into_block(out, flag, format, list, CALLER);
}
SHIM int shim_printf(const char *format, ...) { WITH_LIST(format, into_stream(stdout, -1, -1, format, list, pc)); }
SHIM int shim_vprintf(const char *format, va_list list) {
  return into_stream(stdout, -1, -1, format, list, CALLER);
}
SHIM int shim_fprintf(FILE *stream, const char *format, ...) {
  WITH_LIST(format, into_stream(stream, -1, -1, format, list, pc));
}
SHIM int shim_vfprintf(FILE *stream, const char *format, va_list list) {
  return into_stream(stream, -1, -1, format, list, CALLER);
}
SHIM int shim_dprintf(int descriptor, const char *format, ...) {
  WITH_LIST(format, into_stream(NULL, descriptor, -1, format, list, pc));
}
SHIM int shim_vdprintf(int descriptor, const char *format, va_list list) {
  return into_stream(NULL, descriptor, -1, format, list, CALLER);
}
SHIM int shim___printf_chk(int flag, const char *format, ...) {
  WITH_LIST(format, into_stream(stdout, -1, flag, format, list, pc));
}
SHIM int shim___vprintf_chk(int flag, const char *format, va_list list) {
  return into_stream(stdout, -1, flag, format, list, CALLER);
}
SHIM int shim___fprintf_chk(FILE *stream, int flag, const char *format, ...) {
  WITH_LIST(format, into_stream(stream, -1, flag, format, list, pc));
}
SHIM int shim___vfprintf_chk(FILE *stream, int flag, const char *format, va_list list) {
  return into_stream(stream, -1, flag, format, list, CALLER);
}
SHIM int shim___dprintf_chk(int descriptor, int flag, const char *format, ...) {
  WITH_LIST(format, into_stream(NULL, descriptor, flag, format, list, pc));
}

/* --- scanf and its kin ------------------------------------------------------ */

/* The next conversion of a scanf format. */
static struct conversion next_scanned(const char **at) {
  struct conversion out = {.width = -1, .precision = -1};
  *at = strchrnul(*at, '%');
  if (**at == 0) return out;
  ++*at;
  while (**at == '*' || **at == '\'' || **at == 'I') {
    if (**at == '*') out.suppressed = true;
    ++*at;
  }
  if (is_digit(**at)) out.width = number(at);
  if (**at == '$') return out;
  if (**at == 'm') {
    out.allocates = true;
    ++*at;
  }
  length_modifier(at, &out);
  out.letter = **at;
  if (**at) ++*at;
  if (out.letter == '[') {
    if (**at == '^') ++*at;
    /* A bracket that comes first belongs to the set. */
    if (**at == ']') ++*at;
    while (**at && **at != ']') ++*at;
    if (**at) ++*at;
  }
  return out;
}

/* Bytes that a conversion has stored at `to`. */
static size_t stored(const struct conversion *one, const void *to) {
  size_t unit = one->is_long || one->letter == 'S' || one->letter == 'C' ? sizeof(wchar_t) : 1;
  if (one->allocates) return sizeof(void *);
  switch (one->letter) {
    case 's': case '[': case 'S':
      return unit * ((unit == 1 ? strlen(to) : wcslen(to)) + 1);
    case 'c': case 'C':
      return unit * (one->width < 0 ? 1 : (size_t)one->width);
    case 'p':
      return sizeof(void *);
    case 'e': case 'f': case 'g': case 'a': case 'E': case 'F': case 'G': case 'A':
      /* An x87 long double has ten bytes. */
      return one->is_huge ? 10 : one->is_long ? 8 : 4;
    default:
      return one->bytes;
  }
}

/* Records what the first `done` conversions stored. */
static void walk_scanned(const char *format, va_list list, int done, uint64_t pc) {
  int seen = 0;
  for (const char *at = format;;) {
    struct conversion one = next_scanned(&at);
    if (one.letter == 0) return;
    if (one.letter == '%' || one.suppressed) continue;
    if (one.letter != 'n' && seen++ >= done) return;
    void *to = va_arg(list, void *);
    __reweave_wrote(to, stored(&one, to), pc);
  }
}

typedef int scan(void *, const char *, va_list);

static int scan_from(scan *real, void *source, bool is_stream, const char *format, va_list list, uint64_t pc) {
  bool recorded = __reweave_begin();
  int old = 0;
  va_list again;
  va_copy(again, list);
  if (recorded) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    if (!is_stream) __reweave_read(source, strlen(source) + 1, pc);
  }
  int done = recorded && is_stream && !__reweave_await_input(source, pc) ? EOF : real(source, format, list);
  if (recorded) {
    int saved = errno;
    if (done > 0) walk_scanned(format, again, done, pc);
    pthread_setcancelstate(old, NULL);
    errno = saved;
    __reweave_end();
  }
  va_end(again);
  return done;
}

/* The standards differ in what they accept, so each family has its own functions in libc. */
#define SCANS(prefix)                                                                                   \
  SHIM int shim_##prefix##sscanf(const char *text, const char *format, ...) {                           \
    WITH_LIST(format, scan_from(REAL(#prefix "vsscanf", scan *), (void *)text, false, format, list, pc)); \
  }                                                                                                     \
  SHIM int shim_##prefix##vsscanf(const char *text, const char *format, va_list list) {                 \
    return scan_from(REAL(#prefix "vsscanf", scan *), (void *)text, false, format, list, CALLER);       \
  }                                                                                                     \
  SHIM int shim_##prefix##fscanf(FILE *stream, const char *format, ...) {                               \
    WITH_LIST(format, scan_from(REAL(#prefix "vfscanf", scan *), stream, true, format, list, pc));      \
  }                                                                                                     \
  SHIM int shim_##prefix##vfscanf(FILE *stream, const char *format, va_list list) {                     \
    return scan_from(REAL(#prefix "vfscanf", scan *), stream, true, format, list, CALLER);              \
  }                                                                                                     \
  SHIM int shim_##prefix##scanf(const char *format, ...) {                                              \
    WITH_LIST(format, scan_from(REAL(#prefix "vfscanf", scan *), stdin, true, format, list, pc));       \
  }                                                                                                     \
  SHIM int shim_##prefix##vscanf(const char *format, va_list list) {                                    \
    return scan_from(REAL(#prefix "vfscanf", scan *), stdin, true, format, list, CALLER);               \
  }

SCANS()
SCANS(__isoc99_)
SCANS(__isoc23_)
