//! The public ThreadSanitizer interface, dynamic annotations, and reweave's own macros.
//!
//! A lock that the program announces (`__tsan_mutex_*`) blocks by its own means; the model only learns who holds it.
//! What the lock does inside (its atomics) is recorded like anything else. Fibers, tags and reports have no meaning
//! here and keep the stubs' no-ops.
//!
//! Ignored accesses are not recorded. What was written that way and is read later has no write that explains it.

#![expect(non_snake_case, reason = "hooks are named as the program calls them")]

use super::register::Hook;
use super::{Token, enter, ranges};
use libc::{c_char, c_int, c_uint};
use reweave_model::{Addr, BlockedOn, LockMode, ObjectId, ObjectKind, Op, RefusedWhy, ThreadId};
use std::ffi::CStr;

/// `hooks! { fn symbol(args; inside, pc) [-> T or default] { … } }`: a hook that gets its caller's pc and runs inside
/// the runtime.
macro_rules! hooks {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),*; $inside:ident, $pc:ident) $(-> $ret:ty)? $body:block)*) => {
        $(
            $(#[$meta])*
            mod $name {
                use super::*;

                #[unsafe(naked)]
                pub unsafe extern "C" fn stub() {
                    std::arch::naked_asm!(
                        concat!("mov ", pc_register!($($arg)*), ", [rsp]"),
                        "jmp {body}",
                        body = sym body
                    )
                }

                extern "C-unwind" fn body($($arg: $ty,)* $pc: u64) $(-> $ret)? {
                    // Not every hook looks at all its arguments.
                    let _ = ($($arg,)* $pc);
                    let Some(mut guard) = enter() else { return Default::default() };
                    let $inside = &mut guard;
                    $body
                }
            }
        )*

        pub const HOOKS: &[Hook] = &[$((stringify!($name), $name::stub as *const ())),*];
    };
}

// Flags of __tsan_mutex_*.
const READ_LOCK: c_uint = 1 << 3;
const TRY_LOCK: c_uint = 1 << 4;
const TRY_LOCK_FAILED: c_uint = 1 << 5;
const RECURSIVE_LOCK: c_uint = 1 << 6;
const RECURSIVE_UNLOCK: c_uint = 1 << 7;

/// The thread has taken a lock of the program's own making.
fn locked(token: &mut Token<'_>, pc: u64, lock: u64, mode: LockMode, levels: u32, tried: bool) {
    let id = token.id();
    let state = token.objects().locks.at(lock);
    match mode {
        LockMode::Exclusive if state.owner == id => {
            state.depth += levels;
            return;
        }
        LockMode::Exclusive => {
            state.owner = id;
            state.depth = levels;
        }
        LockMode::Shared => match state.readers.iter_mut().find(|(reader, _)| *reader == id) {
            Some((_, times)) => {
                *times += 1;
                return;
            }
            None => state.readers.push((id, 1)),
        },
    }
    // Without asking the scheduler: the lock is taken, and others may notice before this says so.
    token.step(pc, Op::Acquire { object: ObjectId(lock), mode, tried });
}

fn released(token: &mut Token<'_>, pc: u64, lock: u64) {
    // A release of what is not held is recorded as misuse, no more.
    let _ = token.release(pc, lock);
}

fn mode(shared: bool) -> LockMode {
    if shared { LockMode::Shared } else { LockMode::Exclusive }
}

fn destroyed(token: &mut Token<'_>, pc: u64, lock: u64) {
    if token.destroy(pc, lock, ObjectKind::RwLock).is_err() {
        // Said as misuse; the object is gone all the same.
        token.force_release(lock);
    }
}

/// Everything before a send of `place` comes before everything after a later receive.
fn send(token: &mut Token<'_>, pc: u64, place: u64) {
    token.send(pc, place, 1);
}

fn receive(token: &mut Token<'_>, pc: u64, place: u64) {
    token.receive(pc, place, None);
}

/// An access announced by the program; its value is what is there.
fn access(token: &mut Token<'_>, pc: u64, place: u64, write: bool) {
    let at = place as *const u8;
    if write { ranges::writes(token, at, 1, pc) } else { ranges::reads(token, at, 1, pc) }
}

hooks! {
    fn __tsan_acquire(place: u64; inside, pc) {
        receive(inside, pc, place);
    }

    fn __tsan_release(place: u64; inside, pc) {
        send(inside, pc, place);
    }

    fn __tsan_mutex_create(lock: u64, flags: c_uint; inside, pc) {
        inside.create(pc, lock, ObjectKind::RwLock, 0);
    }

    fn __tsan_mutex_destroy(lock: u64, flags: c_uint; inside, pc) {
        destroyed(inside, pc, lock);
    }

    /// The one place where the scheduler may decide who gets the lock. A try and its outcome are one step.
    fn __tsan_mutex_pre_lock(lock: u64, flags: c_uint; inside, pc) {
        inside.sync_point();
        if flags & TRY_LOCK != 0 {
            inside.forbid_preemption();
        }
    }

    fn __tsan_mutex_post_lock(lock: u64, flags: c_uint, recursion: c_int; inside, pc) {
        let shared = flags & READ_LOCK != 0;
        if flags & TRY_LOCK != 0 {
            inside.allow_preemption();
        }
        if flags & TRY_LOCK_FAILED != 0 {
            let on = if shared { BlockedOn::LockShared } else { BlockedOn::LockExclusive };
            // Where threads run free, its holder may have said that it gives the lock back, and not done so yet. What it
            // is made of says why the try failed.
            let held = inside.peek_objects().locks.get(lock).is_some_and(|lock| lock.held());
            if held || !inside.conductor().is_free() {
                inside.step(pc, Op::Refused { object: ObjectId(lock), on, why: RefusedWhy::Busy });
            }
        } else {
            let levels = if flags & RECURSIVE_LOCK != 0 { recursion.max(1) as u32 } else { 1 };
            locked(inside, pc, lock, mode(shared), levels, flags & TRY_LOCK != 0);
        }
    }

    /// Nobody else runs until the lock really is open: who tries it meanwhile would be refused a free lock.
    fn __tsan_mutex_pre_unlock(lock: u64, flags: c_uint; inside, pc) -> c_int {
        let mut levels = 0;
        let id = inside.id();
        if flags & RECURSIVE_UNLOCK != 0
            && let Some(state) = inside.objects().locks.get_mut(lock)
            && state.owner == id
        {
            // All levels at once; the caller hands them back to __tsan_mutex_post_lock.
            levels = std::mem::replace(&mut state.depth, 1);
        }
        released(inside, pc, lock);
        inside.forbid_preemption();
        levels as c_int
    }

    fn __tsan_mutex_post_unlock(lock: u64, flags: c_uint; inside, pc) {
        inside.allow_preemption();
    }

    fn __tsan_external_read(place: u64, caller: u64, tag: u64; inside, pc) {
        access(inside, caller, place, false);
    }

    fn __tsan_external_write(place: u64, caller: u64, tag: u64; inside, pc) {
        access(inside, caller, place, true);
    }

    fn __reweave_atomic_begin(name: u64; inside, pc) {
        inside.point();
        inside.step(pc, Op::AtomicEnter { name: Addr(name) });
    }

    fn __reweave_atomic_end(; inside, pc) {
        inside.point();
        inside.step(pc, Op::AtomicExit);
    }

    fn AnnotateHappensBefore(file: u64, line: c_int, place: u64; inside, pc) {
        send(inside, pc, place);
    }

    fn AnnotateHappensAfter(file: u64, line: c_int, place: u64; inside, pc) {
        receive(inside, pc, place);
    }

    fn WTFAnnotateHappensBefore(file: u64, line: c_int, place: u64; inside, pc) {
        send(inside, pc, place);
    }

    fn WTFAnnotateHappensAfter(file: u64, line: c_int, place: u64; inside, pc) {
        receive(inside, pc, place);
    }

    fn AnnotatePCQPut(file: u64, line: c_int, place: u64; inside, pc) {
        send(inside, pc, place);
    }

    fn AnnotatePCQGet(file: u64, line: c_int, place: u64; inside, pc) {
        receive(inside, pc, place);
    }

    fn AnnotateRWLockCreate(file: u64, line: c_int, lock: u64; inside, pc) {
        inside.create(pc, lock, ObjectKind::RwLock, 0);
    }

    fn AnnotateRWLockCreateStatic(file: u64, line: c_int, lock: u64; inside, pc) {
        inside.create(pc, lock, ObjectKind::RwLock, 0);
    }

    fn AnnotateRWLockDestroy(file: u64, line: c_int, lock: u64; inside, pc) {
        destroyed(inside, pc, lock);
    }

    fn AnnotateRWLockAcquired(file: u64, line: c_int, lock: u64, exclusive: u64; inside, pc) {
        locked(inside, pc, lock, mode(exclusive == 0), 1, false);
    }

    fn AnnotateRWLockReleased(file: u64, line: c_int, lock: u64, exclusive: u64; inside, pc) {
        released(inside, pc, lock);
    }

    fn __tsan_ignore_thread_begin(; inside, pc) {
        inside.me().ignore(false, true);
        inside.me().ignore(true, true);
    }

    fn __tsan_ignore_thread_end(; inside, pc) {
        inside.me().ignore(false, false);
        inside.me().ignore(true, false);
    }

    fn AnnotateIgnoreReadsBegin(file: u64, line: c_int; inside, pc) {
        inside.me().ignore(false, true);
    }

    fn AnnotateIgnoreReadsEnd(file: u64, line: c_int; inside, pc) {
        inside.me().ignore(false, false);
    }

    fn AnnotateIgnoreWritesBegin(file: u64, line: c_int; inside, pc) {
        inside.me().ignore(true, true);
    }

    fn AnnotateIgnoreWritesEnd(file: u64, line: c_int; inside, pc) {
        inside.me().ignore(true, false);
    }

    /// What was there before is another location.
    fn AnnotateNewMemory(file: u64, line: c_int, place: u64, size: u64; inside, pc) {
        inside.point();
        inside.step(pc, Op::Alloc { addr: Addr(place), size });
    }

    fn AnnotateThreadName(file: u64, line: c_int, name: *const c_char; inside, pc) {
        // SAFETY: the program's own string.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        let thread = ThreadId(inside.id());
        inside.event(pc, Op::ThreadName { thread, name });
    }
}
