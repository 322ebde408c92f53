/* reweave.h: tell reweave what should be atomic.
 *
 *   REWEAVE_ATOMIC_BEGIN("transfer");
 *   ...
 *   REWEAVE_ATOMIC_END();
 *
 * and in C++, also on exceptions:
 *
 *   reweave::atomic_block block("transfer");
 *
 * Another thread must not be able to tell that the block was not executed in
 * one step. Blocks nest. `reweave cc` finds this header by itself; copy it into
 * your project to build with other compilers, where it does nothing.
 */
#ifndef REWEAVE_H
#define REWEAVE_H

#ifdef __REWEAVE__
#ifdef __cplusplus
extern "C" {
#endif
void __reweave_atomic_begin(const char *name);
void __reweave_atomic_end(void);
#ifdef __cplusplus
}
#endif
#define REWEAVE_ATOMIC_BEGIN(name) __reweave_atomic_begin(name)
#define REWEAVE_ATOMIC_END() __reweave_atomic_end()
#else
#define REWEAVE_ATOMIC_BEGIN(name) ((void)(name))
#define REWEAVE_ATOMIC_END() ((void)0)
#endif

#ifdef __cplusplus
namespace reweave {
class atomic_block {
 public:
  explicit atomic_block(const char *name) { REWEAVE_ATOMIC_BEGIN(name); }
  ~atomic_block() { REWEAVE_ATOMIC_END(); }

 private:
  atomic_block(const atomic_block &);
  atomic_block &operator=(const atomic_block &);
};
}  // namespace reweave
#endif

#endif
