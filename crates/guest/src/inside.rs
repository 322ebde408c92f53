//! Entering and leaving a runtime: between the two the thread holds the token, and hooks on it do nothing.

use reweave_conductor::{Conductor, Thread, Token, World};
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Makes sure that the thread holds the token: the watchdog may have taken it.
///
/// # Safety
/// `row` is the calling thread's own, and no reference that was reached through another token of this thread is in use.
#[inline(always)]
pub unsafe fn hold<W: World>(conductor: &Conductor<W>, row: NonNull<Thread<W::Row>>) -> Token<'_, W> {
    // SAFETY: by the contract; a row stays until its thread ends.
    if conductor.holder() == unsafe { row.as_ref() }.id {
        // SAFETY: by the contract, and it has just been looked up who holds it.
        unsafe { Token::assume(conductor, row) }
    } else {
        // SAFETY: by the contract.
        unsafe { rejoin(conductor, row) }
    }
}

#[cold]
unsafe fn rejoin<W: World>(conductor: &Conductor<W>, row: NonNull<Thread<W::Row>>) -> Token<'_, W> {
    // SAFETY: by the contract of `hold`.
    let own = unsafe { &row.as_ref().own };
    let inside = own.inside.replace(1);
    // SAFETY: by the contract of `hold`.
    let mut token = unsafe { Token::arrive(conductor, row) };
    W::came_back(&mut token);
    own.inside.set(inside);
    token
}

/// The thread is in the runtime and holds the token. Dropping it delivers interruptions that came meanwhile.
pub struct Inside<'a, W: World> {
    token: Token<'a, W>,
}

impl<'a, W: World> Inside<'a, W> {
    /// `None`: the thread is in the runtime already.
    ///
    /// # Safety
    /// `row` is the calling thread's own, and no reference that was reached through another token of this thread is in
    /// use.
    #[inline(always)]
    pub unsafe fn enter(conductor: &'a Conductor<W>, row: NonNull<Thread<W::Row>>) -> Option<Self> {
        // SAFETY: by the contract; a row stays until its thread ends.
        let own = unsafe { &row.as_ref().own };
        if own.inside.get() != 0 {
            return None;
        }
        own.inside.set(1);
        // SAFETY: by the contract.
        let mut token = unsafe { hold(conductor, row) };
        token.fill_pending_write();
        if conductor.is_free() {
            W::catch_up(&mut token);
        }
        Some(Self { token })
    }

    /// With the token of a thread that has just come under control.
    pub fn with(token: Token<'a, W>) -> Self {
        token.me().own.inside.set(1);
        Self { token }
    }

    /// Runs code of the program from within the runtime.
    pub fn call_back<R>(&mut self, code: impl FnOnce() -> R) -> R {
        self.token.fill_pending_write();
        self.token.run_free();
        self.me().own.inside.set(0);
        let result = code();
        let free = self.token.conductor().is_free();
        if free {
            // No signal may come in between.
            self.me().own.inside.set(1);
        }
        // It comes back with or without the token.
        self.token.keep();
        self.me().own.inside.set(1);
        if free {
            W::catch_up(&mut self.token);
        }
        result
    }

    /// The token, by which the thread ends or leaves: interruptions are not delivered any more.
    pub fn into_token(self) -> Token<'a, W> {
        let this = ManuallyDrop::new(self);
        // SAFETY: taken out once, and not dropped: `this` is never touched again.
        unsafe { std::ptr::read(&raw const this.token) }
    }
}

impl<'a, W: World> Deref for Inside<'a, W> {
    type Target = Token<'a, W>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.token
    }
}

impl<W: World> DerefMut for Inside<'_, W> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.token
    }
}

impl<W: World> Drop for Inside<'_, W> {
    #[inline]
    fn drop(&mut self) {
        // Not if code of the program is left by unwinding: then it is 0 already.
        if self.me().own.inside.get() == 1 {
            self.token.meet_interrupt();
            while !self.me().interrupts.is_empty() {
                W::deliver(&mut self.token);
                self.token.meet_interrupt();
            }
        }
        self.token.run_free();
        self.me().own.inside.set(0);
    }
}
