//! Call stacks of compiled code: which functions a thread is in.
//!
//! A frame remembers the stack pointer of its entry, so that frames skipped by longjmp or an exception are dropped at
//! the next entry.

use super::register::Hook;
use super::{Thread, Token, active, alloc, free, hold, is_inside, threads};
use reweave_guest::Guarded;
use reweave_guest::stacks::{StackTree, define};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;

#[derive(Clone, Copy)]
struct Frame {
    sp: u64,
    /// Stack of the caller.
    before: u32,
    /// Its accesses are left out, with those of what it calls.
    left_out: bool,
}

impl Frame {
    #[inline(always)]
    fn is_over(&self, token: &Token<'_>) {
        if self.left_out {
            leave_out(token, false);
        }
    }
}

/// Whether somebody asked for the function around this position to be left out.
#[inline(always)]
fn is_left_out(token: &Token<'_>, pc: u64) -> bool {
    let header = token.conductor().region().header();
    header.ignored_count != 0
        && header.ignored[..header.ignored_count as usize].iter().any(|[begin, end]| (*begin..*end).contains(&pc))
}

#[cold]
fn leave_out(token: &Token<'_>, begin: bool) {
    token.me().ignore(false, begin);
    token.me().ignore(true, begin);
}

/// Frames a thread can have; deeper ones are not distinguished. The memory is reserved, not used.
const FRAMES: usize = 1 << 20;

/// Shadow stack of one thread.
pub struct Shadow {
    frames: *mut Frame,
    depth: usize,
}

impl Shadow {
    pub fn new() -> *mut Self {
        let frames = alloc::map(FRAMES * size_of::<Frame>()).cast();
        Box::into_raw(Box::new(Self { frames, depth: 0 }))
    }

    /// # Safety
    /// The thread has ended.
    pub unsafe fn free(shadow: *mut Self) {
        if !shadow.is_null() {
            // SAFETY: made by `new`.
            let shadow = unsafe { Box::from_raw(shadow) };
            alloc::unmap(shadow.frames.cast(), FRAMES * size_of::<Frame>());
        }
    }
}

// SAFETY: for the holder of the token of the one conductor.
static TREE: Guarded<StackTree> = unsafe { Guarded::new(StackTree::new()) };

/// After a fork the child's trace starts without definitions.
///
/// # Safety
/// The caller is alone.
pub unsafe fn forget() {
    // SAFETY: by the contract.
    *unsafe { TREE.get_alone() } = StackTree::new();
}

#[unsafe(naked)]
unsafe extern "C" fn func_entry() {
    std::arch::naked_asm!("lea rsi, [rsp + 8]", "mov rdx, [rsp]", "jmp {body}", body = sym entered)
}

extern "C" fn entered(caller: u64, sp: u64, pc: u64) {
    if !active() || is_inside() {
        return;
    }
    // SAFETY: the thread is not inside, so no other token of it is in use.
    let Some(mut token) = (unsafe { hold() }).or_else(threads::adopt) else { return };
    // The last write's slot may be reused by calls that no hook sees.
    token.fill_pending_write();
    let row = token.pointer();
    // SAFETY: the row of this very thread.
    unsafe { entered_by(&mut token, row, caller, sp, pc) };
}

/// A function is entered by a thread: the calling one, or one whose records are taken over.
///
/// # Safety
/// The row is of a thread that has begun and not ended.
pub unsafe fn entered_by(token: &mut Token<'_>, thread: NonNull<Thread>, caller: u64, sp: u64, pc: u64) {
    // SAFETY: by the contract; the shadow stack is touched by the holder of the token, or belongs to this thread.
    let stack = unsafe {
        let own = &thread.as_ref().own;
        let mut stack = own.stack();
        let shadow = &mut *thread.as_ref().row.shadow.load(Ordering::Relaxed);
        // Frames below the current stack pointer were left without an exit.
        while shadow.depth > 0 && (*shadow.frames.add(shadow.depth - 1)).sp < sp {
            shadow.depth -= 1;
            let frame = *shadow.frames.add(shadow.depth);
            stack = frame.before;
            frame.is_over(token);
        }
        if shadow.depth < FRAMES {
            let left_out = is_left_out(token, pc);
            if left_out {
                leave_out(token, true);
            }
            *shadow.frames.add(shadow.depth) = Frame { sp, before: stack, left_out };
        }
        shadow.depth += 1;
        stack
    };
    let (id, new) = TREE.get(token).child(stack, caller);
    if new {
        // Nothing else may come between the settled write and this.
        let inside = token.me().own.inside.replace(1);
        define(token, id, stack, caller);
        token.me().own.inside.set(inside);
    }
    // SAFETY: by the contract.
    token.recorder().0.set_stack(unsafe { thread.as_ref() }, id);
}

extern "C" fn func_exit() {
    if is_inside() {
        return;
    }
    // SAFETY: the thread is not inside, so no other token of it is in use.
    let Some(mut token) = (unsafe { hold() }) else { return };
    token.fill_pending_write();
    let row = token.pointer();
    // SAFETY: the row of this very thread.
    unsafe { left_by(&mut token, row) };
}

/// The function is left again.
///
/// # Safety
/// As for [`entered_by`].
pub unsafe fn left_by(token: &mut Token<'_>, thread: NonNull<Thread>) {
    // SAFETY: by the contract; the shadow stack is touched by the holder of the token, or belongs to this thread.
    unsafe {
        let shadow = &mut *thread.as_ref().row.shadow.load(Ordering::Relaxed);
        if shadow.depth > 0 {
            shadow.depth -= 1;
            if shadow.depth < FRAMES {
                let frame = *shadow.frames.add(shadow.depth);
                frame.is_over(token);
                token.recorder().0.set_stack(thread.as_ref(), frame.before);
            }
        }
    }
}

/// A new thread's empty stack.
pub fn attach(token: &mut Token<'_>) {
    let shadow = &token.me().row.shadow;
    if shadow.load(Ordering::Relaxed).is_null() {
        shadow.store(Shadow::new(), Ordering::Relaxed);
    }
    if token.conductor().is_free() {
        free::Buffer::attach(token);
    }
}

pub fn detach(token: &mut Token<'_>) {
    // SAFETY: called once, at the end of the thread.
    unsafe { Shadow::free(token.me().row.shadow.swap(null_mut(), Ordering::Relaxed)) };
    free::Buffer::detach(token);
}

pub const HOOKS: &[Hook] =
    &[("__tsan_func_entry", func_entry as *const ()), ("__tsan_func_exit", func_exit as *const ())];
