//! Global state of the runtime that only the holder of the token touches, and which therefore needs no lock.

use std::cell::UnsafeCell;

pub struct Guarded<T>(UnsafeCell<T>);

// SAFETY: the token makes accesses exclusive; constructors and the child of a fork run alone.
unsafe impl<T> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// For the holder of the token. Do not keep the reference across a call that may hand the token over.
    #[expect(clippy::mut_from_ref, reason = "that is the point: the token is the lock")]
    pub fn get(&self) -> &mut T {
        // SAFETY: by the rule above.
        unsafe { &mut *self.0.get() }
    }
}

impl<T: Default> Guarded<Option<T>> {
    /// Made at first use: maps cannot be made in a constant.
    pub fn made(&self) -> &mut T {
        self.get().get_or_insert_default()
    }
}
