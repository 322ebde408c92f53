//! The public ThreadSanitizer interface, dynamic annotations, and reweave's own macros.
//!
//! A lock that the program announces (`__tsan_mutex_*`) blocks by its own means; the model only learns who holds it.
//! What the lock does inside (its atomics) is recorded like anything else. Fibers, tags and reports have no meaning
//! here and keep the stubs' no-ops.
//!
//! Ignored accesses are not recorded. What was written that way and is read later has no write that explains it.

#![expect(non_snake_case, reason = "hooks are named as the program calls them")]

use super::register::Hook;
use super::{conductor, enter, ranges};
use libc::{c_char, c_int, c_uint};
use reweave_conductor::Thread;
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
                    // Not every hook looks at all it is told.
                    let _ = ($($arg,)* $pc);
                    let Some($inside) = enter() else { return Default::default() };
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
fn locked(thread: &mut Thread, pc: u64, lock: u64, mode: LockMode, levels: u32, tried: bool) {
    let conductor = conductor();
    let state = conductor.objects.locks.at(lock);
    match mode {
        LockMode::Exclusive if state.owner == thread.id => {
            state.depth += levels;
            return;
        }
        LockMode::Exclusive => {
            state.owner = thread.id;
            state.depth = levels;
        }
        LockMode::Shared => match state.readers.iter_mut().find(|(reader, _)| *reader == thread.id) {
            Some((_, times)) => {
                *times += 1;
                return;
            }
            None => state.readers.push((thread.id, 1)),
        },
    }
    // Without asking the scheduler: the lock is taken, and others may notice before this says so.
    conductor.step(thread, pc, Op::Acquire { object: ObjectId(lock), mode, tried });
}

fn released(thread: &mut Thread, pc: u64, lock: u64) {
    // A release of what is not held is recorded as misuse, no more.
    let _ = conductor().release(thread, pc, lock);
}

fn mode(shared: bool) -> LockMode {
    if shared { LockMode::Shared } else { LockMode::Exclusive }
}

fn destroyed(thread: &mut Thread, pc: u64, lock: u64) {
    if conductor().destroy(thread, pc, lock, ObjectKind::RwLock).is_err() {
        // Said as misuse; the object is gone all the same.
        conductor().force_release(lock);
    }
}

/// Everything before a send of `place` comes before everything after a later receive.
fn send(thread: &mut Thread, pc: u64, place: u64) {
    conductor().send(thread, pc, place, 1);
}

fn receive(thread: &mut Thread, pc: u64, place: u64) {
    conductor().receive(thread, pc, place, None);
}

/// An access announced by the program; its value is what is there.
fn access(thread: &mut Thread, pc: u64, place: u64, write: bool) {
    let at = place as *const u8;
    if write { ranges::writes(thread, at, 1, pc) } else { ranges::reads(thread, at, 1, pc) }
}

hooks! {
    fn __tsan_acquire(place: u64; inside, pc) {
        receive(inside.thread, pc, place);
    }

    fn __tsan_release(place: u64; inside, pc) {
        send(inside.thread, pc, place);
    }

    fn __tsan_mutex_create(lock: u64, flags: c_uint; inside, pc) {
        conductor().create(inside.thread, pc, lock, ObjectKind::RwLock, 0);
    }

    fn __tsan_mutex_destroy(lock: u64, flags: c_uint; inside, pc) {
        destroyed(inside.thread, pc, lock);
    }

    /// The one place where the scheduler may decide who gets the lock. A try and its outcome are one step.
    fn __tsan_mutex_pre_lock(lock: u64, flags: c_uint; inside, pc) {
        conductor().sync_point(inside.thread);
        if flags & TRY_LOCK != 0 {
            inside.thread.no_preempt += 1;
        }
    }

    fn __tsan_mutex_post_lock(lock: u64, flags: c_uint, recursion: c_int; inside, pc) {
        let shared = flags & READ_LOCK != 0;
        if flags & TRY_LOCK != 0 {
            inside.thread.no_preempt = inside.thread.no_preempt.saturating_sub(1);
        }
        if flags & TRY_LOCK_FAILED != 0 {
            let on = if shared { BlockedOn::LockShared } else { BlockedOn::LockExclusive };
            let op = Op::Refused { object: ObjectId(lock), on, why: RefusedWhy::Busy };
            conductor().step(inside.thread, pc, op);
        } else {
            let levels = if flags & RECURSIVE_LOCK != 0 { recursion.max(1) as u32 } else { 1 };
            locked(inside.thread, pc, lock, mode(shared), levels, flags & TRY_LOCK != 0);
        }
    }

    /// Nobody else runs until the lock really is open: who tries it meanwhile would be refused a free lock.
    fn __tsan_mutex_pre_unlock(lock: u64, flags: c_uint; inside, pc) -> c_int {
        let mut levels = 0;
        if flags & RECURSIVE_UNLOCK != 0
            && let Some(state) = conductor().objects.locks.get_mut(lock)
            && state.owner == inside.thread.id
        {
            // All levels at once; the caller hands them back to __tsan_mutex_post_lock.
            levels = std::mem::replace(&mut state.depth, 1);
        }
        released(inside.thread, pc, lock);
        inside.thread.no_preempt += 1;
        levels as c_int
    }

    fn __tsan_mutex_post_unlock(lock: u64, flags: c_uint; inside, pc) {
        inside.thread.no_preempt = inside.thread.no_preempt.saturating_sub(1);
    }

    fn __tsan_external_read(place: u64, caller: u64, tag: u64; inside, pc) {
        access(inside.thread, caller, place, false);
    }

    fn __tsan_external_write(place: u64, caller: u64, tag: u64; inside, pc) {
        access(inside.thread, caller, place, true);
    }

    fn __reweave_atomic_begin(name: u64; inside, pc) {
        conductor().point(inside.thread);
        conductor().step(inside.thread, pc, Op::AtomicEnter { name: Addr(name) });
    }

    fn __reweave_atomic_end(; inside, pc) {
        conductor().point(inside.thread);
        conductor().step(inside.thread, pc, Op::AtomicExit);
    }

    fn AnnotateHappensBefore(file: u64, line: c_int, place: u64; inside, pc) {
        send(inside.thread, pc, place);
    }

    fn AnnotateHappensAfter(file: u64, line: c_int, place: u64; inside, pc) {
        receive(inside.thread, pc, place);
    }

    fn WTFAnnotateHappensBefore(file: u64, line: c_int, place: u64; inside, pc) {
        send(inside.thread, pc, place);
    }

    fn WTFAnnotateHappensAfter(file: u64, line: c_int, place: u64; inside, pc) {
        receive(inside.thread, pc, place);
    }

    fn AnnotatePCQPut(file: u64, line: c_int, place: u64; inside, pc) {
        send(inside.thread, pc, place);
    }

    fn AnnotatePCQGet(file: u64, line: c_int, place: u64; inside, pc) {
        receive(inside.thread, pc, place);
    }

    fn AnnotateRWLockCreate(file: u64, line: c_int, lock: u64; inside, pc) {
        conductor().create(inside.thread, pc, lock, ObjectKind::RwLock, 0);
    }

    fn AnnotateRWLockCreateStatic(file: u64, line: c_int, lock: u64; inside, pc) {
        conductor().create(inside.thread, pc, lock, ObjectKind::RwLock, 0);
    }

    fn AnnotateRWLockDestroy(file: u64, line: c_int, lock: u64; inside, pc) {
        destroyed(inside.thread, pc, lock);
    }

    fn AnnotateRWLockAcquired(file: u64, line: c_int, lock: u64, exclusive: u64; inside, pc) {
        locked(inside.thread, pc, lock, mode(exclusive == 0), 1, false);
    }

    fn AnnotateRWLockReleased(file: u64, line: c_int, lock: u64, exclusive: u64; inside, pc) {
        released(inside.thread, pc, lock);
    }

    fn __tsan_ignore_thread_begin(; inside, pc) {
        inside.thread.ignore(false, true);
        inside.thread.ignore(true, true);
    }

    fn __tsan_ignore_thread_end(; inside, pc) {
        inside.thread.ignore(false, false);
        inside.thread.ignore(true, false);
    }

    fn AnnotateIgnoreReadsBegin(file: u64, line: c_int; inside, pc) {
        inside.thread.ignore(false, true);
    }

    fn AnnotateIgnoreReadsEnd(file: u64, line: c_int; inside, pc) {
        inside.thread.ignore(false, false);
    }

    fn AnnotateIgnoreWritesBegin(file: u64, line: c_int; inside, pc) {
        inside.thread.ignore(true, true);
    }

    fn AnnotateIgnoreWritesEnd(file: u64, line: c_int; inside, pc) {
        inside.thread.ignore(true, false);
    }

    /// What was there before is another location.
    fn AnnotateNewMemory(file: u64, line: c_int, place: u64, size: u64; inside, pc) {
        conductor().point(inside.thread);
        conductor().step(inside.thread, pc, Op::Alloc { addr: Addr(place), size });
    }

    fn AnnotateThreadName(file: u64, line: c_int, name: *const c_char; inside, pc) {
        // SAFETY: the program's own string.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        let thread = ThreadId(inside.thread.id);
        conductor().recorder.event(inside.thread, pc, Op::ThreadName { thread, name });
    }
}
