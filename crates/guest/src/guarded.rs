//! State of a runtime that only the holder of the token touches, and which therefore needs no lock.

use reweave_conductor::{Token, World};
use std::cell::UnsafeCell;

pub struct Guarded<T>(UnsafeCell<T>);

// SAFETY: the value is reached through a token; by the contract of `new` there is one at a time.
unsafe impl<T: Send> Sync for Guarded<T> {}
// SAFETY: as above; a value that moves with its owner is not reached by anybody else.
unsafe impl<T: Send> Send for Guarded<T> {}

impl<T> Guarded<T> {
    /// # Safety
    /// All who use it have the token of one and the same conductor, or run alone (before the first thread is under
    /// control, or in the child of a fork).
    pub const unsafe fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value, for as long as the token is not handed over. After a real call that may take long, `Token::keep`
    /// comes first, and none is made while the value is borrowed: the watchdog could take the token.
    pub fn get<'a, W: World>(&'a self, token: &'a mut Token<'_, W>) -> &'a mut T {
        let _ = token;
        // SAFETY: the token is borrowed exclusively, and there is one at a time.
        unsafe { &mut *self.0.get() }
    }

    /// # Safety
    /// The caller runs alone: no other thread is under control.
    #[expect(clippy::mut_from_ref, reason = "that nobody else has it is the contract")]
    pub unsafe fn get_alone(&self) -> &mut T {
        // SAFETY: by the contract.
        unsafe { &mut *self.0.get() }
    }
}

impl<T: Default> Guarded<Option<T>> {
    /// Made at first use: maps cannot be made in a constant.
    pub fn made<'a, W: World>(&'a self, token: &'a mut Token<'_, W>) -> &'a mut T {
        self.get(token).get_or_insert_default()
    }
}
