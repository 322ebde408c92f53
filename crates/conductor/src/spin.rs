//! A lock for the short moments in which threads without the token touch the thread table. Never held across a wake-up:
//! a woken thread would run into it at once (0.7 s became 49 s).

use crate::sys;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

/// A value that is reached through [`Spin::lock`] only.
pub struct Spin<T> {
    locked: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through the guard only, and there is one guard at a time.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    pub const fn new(value: T) -> Self {
        Self { locked: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    pub fn lock(&self) -> SpinGuard<'_, T> {
        let mut tries = 0u32;
        while self.locked.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries < 64 {
                std::hint::spin_loop();
            } else {
                sys::yield_now();
            }
        }
        SpinGuard { spin: self }
    }
}

/// The lock is held for as long as this lives.
pub struct SpinGuard<'a, T> {
    spin: &'a Spin<T>,
}

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard says that the lock is held.
        unsafe { &*self.spin.value.get() }
    }
}

impl<T> DerefMut for SpinGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard says that the lock is held, and it is borrowed exclusively.
        unsafe { &mut *self.spin.value.get() }
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    fn drop(&mut self) {
        self.spin.locked.store(0, Ordering::Release);
    }
}
