/* Offers this module's table to the runtime, if one is loaded.
 *
 * dlsym is a weak reference: a static program has none, and stays idle. Nothing
 * else of the process is touched, so a program run without reweave only pays
 * for one failed lookup per module.
 */
#include <stddef.h>

extern void *dlsym(void *, const char *) __attribute__((weak));
extern char *dlerror(void) __attribute__((weak));

/* RTLD_DEFAULT, without needing _GNU_SOURCE and <dlfcn.h>. */
#define EVERYWHERE ((void *)0)

#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN void *reweave_table[];
extern HIDDEN void *reweave_table_end[];
extern HIDDEN const char *const reweave_names[];

typedef int register_function(void **table, const char *const *names,
                              size_t count, const void *module_marker);
typedef void unregister_function(void **table);

/* The linker is told to look for this symbol (-u), so that the archive's
 * member is there even if only link-time optimisation makes the first call. */
HIDDEN const char reweave_stubs_anchor = 1;

/* The runtime's entry, or NULL. A failed lookup leaves an error that the
 * program's next dlerror() would report as its own: take it away. */
static void *runtime(const char *name) {
  if (!dlsym) return NULL;
  void *found = dlsym(EVERYWHERE, name);
  if (!found && dlerror) dlerror();
  return found;
}

/* Priority 1 (reserved for the implementation): before every constructor and
 * after every destructor of the program's own, whatever its link order. */
__attribute__((constructor(1))) static void reweave_attach(void) {
  register_function *attach = (register_function *)runtime("__reweave_register");
  if (attach)
    attach(reweave_table, reweave_names,
           (size_t)(reweave_table_end - reweave_table), (const void *)reweave_table);
}

__attribute__((destructor(1))) static void reweave_detach(void) {
  unregister_function *detach =
      (unregister_function *)runtime("__reweave_unregister");
  if (detach) detach(reweave_table);
}
