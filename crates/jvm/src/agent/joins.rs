//! The ends of threads, and who knows of them. A trace has one join of each thread; whoever learns of the end later reads
//! a word that the thread has written last.

use super::jni::{Class, Env, Object};
use super::jvmti::FrameInfo;
use super::monitors::{acquire, deadline, enter_monitor, leave_monitor, release, waiting};
use super::status::shown_as;
use super::threads::{self, Jvm};
use super::{agent, interrupts, replaced, stacks};
use reweave_guest::model::{Addr, AtomicKind, MemoryOrder, Op, ThreadId, Value};
use reweave_guest::{Inside, Token, Wakeup};
use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Threads whose end is in the trace as joined, or will be when they end: somebody waits for that.
static JOINED: LazyLock<Mutex<HashSet<u32>>> = LazyLock::new(Mutex::default);

/// Whether this thread is the first who asks for the end of that one.
pub fn is_first(child: u32) -> bool {
    JOINED.lock().unwrap_or_else(PoisonError::into_inner).insert(child)
}

/// Whether nobody has asked for the end of that thread.
pub fn is_unasked(child: u32) -> bool {
    !JOINED.lock().unwrap_or_else(PoisonError::into_inner).contains(&child)
}

/// Where the end of a thread is written down.
const fn end_of(thread: u32) -> Addr {
    Addr(0x0980_0000_0000 + thread as u64 * 8)
}

/// What is written there is 1; it is `read` if it is read.
fn record(token: &mut Token<'_, Jvm>, pc: u64, thread: u32, kind: AtomicKind, read: u64) {
    let (read, written) = (Value::Word(read), Value::Word(u64::from(kind != AtomicKind::Load)));
    let (addr, order) = (end_of(thread), MemoryOrder::SeqCst);
    token.step(pc, Op::Atomic { kind, order, addr, size: 8, read, written });
}

/// This thread is about to end. The machine notifies whoever waits in its monitor (the address of the thread, 0 if it has
/// none), for which it takes the monitor; nobody comes between that and the end.
pub fn ends(token: &mut Inside<'_, Jvm>, monitor: u64) {
    let own = token.id();
    let objects = token.objects();
    let is_held = objects.locks.get(monitor).is_some_and(|lock| lock.held());
    let is_awaited = objects.conditions.get(monitor).is_some_and(|condition| !condition.waiters.is_empty());
    let is_watched = monitor != 0 && (is_held || is_awaited);
    if is_watched {
        acquire(token, 0, monitor);
        token.forbid_preemption();
    }
    record(token, 0, own, AtomicKind::Store, 0);
    if is_watched {
        token.notify(0, monitor, true);
        release(token, 0, monitor);
    }
}

/// This thread knows that another has ended.
pub fn take_notice(token: &mut Token<'_, Jvm>, pc: u64, child: u32) {
    if is_first(child) {
        token.step(pc, Op::Join { child: ThreadId(child) });
    } else {
        record(token, pc, child, AtomicKind::Load, 1);
    }
}

/// This thread sees that another has not ended yet, and is about to wait in its monitor.
pub fn see_alive(token: &mut Token<'_, Jvm>, pc: u64, child: u32) {
    record(token, pc, child, AtomicKind::Load, 0);
}

/// Whether the wait that this thread is in is that of `Thread.join`, not one of the program in the monitor of a thread.
pub fn is_join() -> bool {
    let agent = agent();
    let mut frames = [FrameInfo { method: std::ptr::null_mut(), location: 0 }; 4];
    let mut count = 0;
    // SAFETY: room for as many frames as are asked for; null stands for the calling thread.
    let error = unsafe { agent.jvmti.get_stack_trace(std::ptr::null_mut(), 0, 4, frames.as_mut_ptr(), &raw mut count) };
    error == 0 && frames[..count as usize].iter().any(|frame| frame.method == agent.known().join)
}

/// `Thread.join` waits in the monitor of the thread, which the machine itself notifies. The first who does so waits for
/// the end itself. Says whether there is nothing left to wait for.
pub fn join(env: Env, thread: Object, child: u32, milliseconds: i64) -> bool {
    if threads::enter(env, |inside| inside.is_alive(child)) == Some(true) {
        if !is_first(child) {
            return false;
        }
        await_end(env, thread, child, milliseconds);
    }
    settle(env, thread, child);
    if interrupts::take(env) {
        interrupts::throw(env);
    }
    true
}

fn await_end(env: Env, thread: Object, child: u32, milliseconds: i64) {
    let lock = agent().known().known_address(env, thread);
    let depth = leave_monitor(env, thread);
    threads::enter(env, |inside| {
        stacks::at_call(inside, |token, pc| {
            let held = lock != 0 && token.owner(lock) == token.id();
            if held {
                release(token, pc, lock);
            }
            token.me().wait.cancelled.set(false);
            let deadline = deadline(token, milliseconds);
            if shown_as(token, waiting(milliseconds), |token| token.join(pc, child, deadline)) == Wakeup::Granted {
                token.me().row.joined.set(child + 1);
            } else {
                JOINED.lock().unwrap_or_else(PoisonError::into_inner).remove(&child);
            }
            token.me().wait.cancelled.set(false);
            if held {
                acquire(token, pc, lock);
            }
        });
    });
    enter_monitor(env, thread, depth);
}

/// A thread that has ended in the model needs a moment more in the machine: that is no wait, whatever the machine thinks.
pub fn settle(env: Env, thread: Object, child: u32) {
    if threads::enter(env, |inside| inside.is_alive(child)) == Some(false) {
        while agent().known().is_alive(env, thread) {
            // SAFETY: the machine's own function, in the monitor.
            unsafe { (replaced::real().monitor_wait)(env, thread, 1) };
            if env.clear() {
                break;
            }
        }
    }
}

/// What the other thread did comes before whatever this one does from here on, if it has ended. Whether it has not.
pub unsafe extern "system" fn saw_end(env: Env, _: Class, thread: Object, site: i32) -> u8 {
    let Some(child) = threads::number(thread) else { return 1 };
    let pc = agent().classes().pc(site as u32);
    let alive = threads::enter(env, |inside| {
        let joined = &inside.me().row.joined;
        // The wait for it may have been recorded already.
        if joined.replace(0) == child + 1 {
            return false;
        }
        inside.sync_point();
        let alive = inside.is_alive(child);
        if !alive {
            take_notice(inside, pc, child);
        }
        alive
    });
    u8::from(alive.unwrap_or(true))
}
