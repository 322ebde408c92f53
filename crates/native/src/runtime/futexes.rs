//! Futexes that the program, or its C++ library, uses itself: they are waited on in the scheduler.

use super::load::load;
use super::{Inside, Threads, Token, signals, time};
use libc::{c_int, timespec};
use reweave_conductor::objects::{Condition, InUse};
use reweave_conductor::{Deadline, Status, Wakeup};
use reweave_guest::Guarded;
use reweave_model::{BlockedOn, ObjectId, Op, RefusedWhy, WakeReason};

/// Threads that wait on a word.
// SAFETY: for the holder of the token of the one conductor.
static WORDS: Guarded<Option<InUse<Condition>>> = unsafe { Guarded::new(None) };

const FUTEX_WAIT: c_int = 0;
const FUTEX_WAKE: c_int = 1;
const FUTEX_WAIT_BITSET: c_int = 9;
const FUTEX_WAKE_BITSET: c_int = 10;
const FUTEX_COMMAND: c_int = 127;

/// The child of a fork: those who waited are not there.
///
/// # Safety
/// The caller is alone.
pub unsafe fn forget() {
    // SAFETY: by the contract.
    *unsafe { WORDS.get_alone() } = None;
}

/// Waits on a word that the caller has just seen to hold `value`.
fn wait(token: &mut Token<'_>, pc: u64, word: u64, value: u32, deadline: Deadline) -> Wakeup {
    let (object, on, id) = (ObjectId(word), BlockedOn::Futex, token.id());
    token.expect_notify();
    token.me().wait.second.set(value.into());
    WORDS.made(token).at(word).waiters.push(id);
    token.step(pc, Op::Blocked { on, object });
    let wakeup = token.block_interruptibly(on, word, deadline);
    if let Some(word) = WORDS.made(token).get_mut(word) {
        word.waiters.retain(|&waiter| waiter != id);
    }
    token.point();
    if wakeup == Wakeup::Granted {
        let notify = token.me().wait.notify.get();
        // Without a number: a thread that is not managed or the kernel woke it.
        let reason = if notify == 0 { WakeReason::Spurious } else { WakeReason::Notified };
        token.step(pc, Op::Woken { condition: object, mutex: ObjectId(0), reason, notify });
    } else {
        let why = if wakeup == Wakeup::TimedOut { RefusedWhy::TimedOut } else { RefusedWhy::Interrupted };
        token.step(pc, Op::Refused { object, on, why });
    }
    wakeup
}

/// Wakes up to `count` threads that wait on a word; returns how many.
fn wake(token: &mut Token<'_>, pc: u64, word: u64, count: u32) -> u32 {
    token.sync_point();
    let mut waiters = WORDS.made(token).get_mut(word).map(|word| std::mem::take(&mut word.waiters));
    let (notify, woken) = token.wake_waiters(waiters.as_mut(), count);
    if let (Some(left), Some(word)) = (waiters, WORDS.made(token).get_mut(word)) {
        word.waiters = left;
    }
    token.step(pc, Op::Notify { condition: ObjectId(word), all: count > 1, notify, woken });
    woken
}

/// Ends waits whose word no longer holds what the waiter expected. Only while threads that are not managed may have
/// changed it: among known threads a change without a wake is a bug of the program and must stay one. True: there were
/// any.
pub fn end_changed(threads: &Threads) -> bool {
    let mut any = false;
    for thread in threads.iter() {
        let wait = &thread.wait;
        if thread.status() == Status::Blocked
            && wait.on.get() == BlockedOn::Futex
            && !wait.woken.get()
            && load(wait.object.get(), 4) != wait.second.get()
        {
            wait.woken.set(true);
            wait.notify.set(0);
            any = true;
        }
    }
    any
}

/// A futex call. `None`: not one we model.
pub fn call(
    inside: &mut Inside,
    pc: u64,
    word: u64,
    operation: c_int,
    value: u32,
    timeout: *const timespec,
) -> Option<isize> {
    match operation & FUTEX_COMMAND {
        command @ (FUTEX_WAIT | FUTEX_WAIT_BITSET) => {
            inside.sync_point();
            if load(word, 4) as u32 != value {
                return Some(-(libc::EAGAIN as isize));
            }
            // SAFETY: the program's own argument.
            let deadline = match unsafe { timeout.as_ref() } {
                None => Deadline::Never,
                Some(span) if command == FUTEX_WAIT => time::after(inside, time::nanoseconds(span)),
                Some(_) if operation & libc::FUTEX_CLOCK_REALTIME != 0 => time::deadline(libc::CLOCK_REALTIME, timeout),
                Some(_) => time::deadline(libc::CLOCK_MONOTONIC, timeout),
            };
            Some(match wait(inside, pc, word, value, deadline) {
                Wakeup::Granted => 0,
                Wakeup::TimedOut => -(libc::ETIMEDOUT as isize),
                Wakeup::Interrupted | Wakeup::Cancelled => {
                    signals::deliver(inside);
                    -(libc::EINTR as isize)
                }
            })
        }
        FUTEX_WAKE | FUTEX_WAKE_BITSET => Some(wake(inside, pc, word, value) as isize),
        _ => None,
    }
}
