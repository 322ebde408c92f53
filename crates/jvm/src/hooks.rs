//! The hook classes, compiled. Their source is beside their bytes in `hooks/`, so building needs no JDK.

/// `java/lang/ReweaveHooks`: accesses, monitors, calls.
pub const HOOKS_BYTES: &[u8] = include_bytes!("../hooks/java/lang/ReweaveHooks.class");
/// `java/lang/ReweaveAtomics`: what is called instead of `Unsafe`.
pub const ATOMICS_BYTES: &[u8] = include_bytes!("../hooks/java/lang/ReweaveAtomics.class");
