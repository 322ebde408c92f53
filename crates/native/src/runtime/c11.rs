//! C11 threads: glibc's own versions call internals directly, so each is interposed.
