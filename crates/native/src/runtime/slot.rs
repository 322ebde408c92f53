//! A place for plain data that signal handlers look at.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Plain data of the system's, of so many words, that handlers read and write at any time and on any thread, hence the
/// atomics. To tear it, the program would have to race with its own calls.
pub struct Slot<T, const WORDS: usize> {
    is_full: AtomicBool,
    words: [AtomicU64; WORDS],
    what: std::marker::PhantomData<fn(T) -> T>,
}

impl<T: Copy, const WORDS: usize> Slot<T, WORDS> {
    const FITS: () = assert!(size_of::<T>() == 8 * WORDS && align_of::<T>() <= 8);

    pub const fn empty() -> Self {
        let () = Self::FITS;
        Self {
            is_full: AtomicBool::new(false),
            words: [const { AtomicU64::new(0) }; WORDS],
            what: std::marker::PhantomData,
        }
    }

    pub fn get(&self) -> Option<T> {
        if !self.is_full.load(Ordering::Acquire) {
            return None;
        }
        let words: [u64; WORDS] = std::array::from_fn(|at| self.words[at].load(Ordering::Relaxed));
        // SAFETY: as large as one, and filled from one: structures of the system's, all of whose bytes may be anything.
        Some(unsafe { std::mem::transmute_copy(&words) })
    }

    pub fn set(&self, value: Option<T>) {
        if let Some(value) = value {
            let mut words = [0u64; WORDS];
            // SAFETY: as large as one.
            unsafe {
                std::ptr::copy_nonoverlapping((&raw const value).cast(), words.as_mut_ptr().cast::<u8>(), 8 * WORDS)
            };
            self.words.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
        }
        self.is_full.store(value.is_some(), Ordering::Release);
    }
}
