//! Words that several threads, or a thread and an interruption of its own, read and write without the token. Each
//! access is one machine instruction, as a plain one would be; what order they need is given by the token and the spin
//! lock.

use crate::thread::Status;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

macro_rules! words {
    ($($(#[$meta:meta])* $name:ident($atomic:ty, $value:ty);)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Default)]
        pub struct $name($atomic);

        impl $name {
            pub const fn new(value: $value) -> Self {
                Self(<$atomic>::new(value))
            }

            #[inline(always)]
            pub fn get(&self) -> $value {
                self.0.load(Relaxed)
            }

            #[inline(always)]
            pub fn set(&self, value: $value) {
                self.0.store(value, Relaxed);
            }

            #[inline(always)]
            pub fn replace(&self, value: $value) -> $value {
                let before = self.get();
                self.set(value);
                before
            }
        }
    )*};
}

words! {
    Word(AtomicU32, u32);
    Long(AtomicU64, u64);
    Flag(AtomicBool, bool);
}

/// A thread's [`Status`].
#[derive(Debug)]
pub struct StatusWord(AtomicU8);

impl StatusWord {
    pub(crate) const fn new(status: Status) -> Self {
        Self(AtomicU8::new(status as u8))
    }

    #[inline(always)]
    pub fn get(&self) -> Status {
        match self.0.load(Relaxed) {
            0 => Status::Ready,
            1 => Status::Blocked,
            2 => Status::Outside,
            _ => Status::Ended,
        }
    }

    /// The scheduler's alone: a thread that says it is outside, and goes on, would have a token that it does not hold.
    #[inline(always)]
    pub(crate) fn set(&self, status: Status) {
        self.0.store(status as u8, Relaxed);
    }
}
