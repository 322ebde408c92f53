//! The files that `reweave` carries inside itself, made by the build script.

/// The runtime library (a shared object) that is preloaded into the target.
pub static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libreweave_runtime.so"));

/// The archive of hooks that every instrumented program is linked with.
pub static STUBS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libreweave_stubs.a"));

/// `reweave.h`, for programs that declare atomic blocks.
pub static HEADER: &[u8] = include_bytes!("../stubs/reweave.h");

/// A specs file for gcc that gives `-fsanitize=thread` to the compiler proper but hides it from
/// the driver, which would otherwise link libtsan.
pub(crate) static GCC_SPECS: &[u8] = include_bytes!("../stubs/gcc.specs");

/// Names the folder of the cache that holds these files.
pub(crate) const CONTENT_HASH: &str = env!("REWEAVE_CONTENT_HASH");
