//! The public ThreadSanitizer interface and reweave's own macros.

use super::register::Hook;

pub const HOOKS: &[Hook] = &[];
