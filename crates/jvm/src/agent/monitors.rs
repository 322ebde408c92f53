//! Monitors: first in the model, then really. What the machine's own code does with monitors is not in the model;
//! whoever would block for real because of that leaves control until it has the monitor.
//!
//! `synchronized` methods of classes that were loaded before us are the exception: there the machine takes the monitor
//! before the body can ask the model. Who has just got it gives it back ([`give_back`]), asks the model, and takes it
//! again; who would block on it asks the model first ([`contended_enter`]). So threads stop before such methods as they
//! do before all others.

use super::jni::{Class, Env, Object};
use super::jvmti::{FrameInfo, Jvmti};
use super::status::{Status, shown_as};
use super::threads::{self, Jvm};
use super::{agent, interrupts, joins, replaced, stacks, unseen};
use crate::classfile::access;
use reweave_guest::model::{LockMode, WakeReason};
use reweave_guest::{Deadline, Token};
use std::cell::Cell;

thread_local! {
    /// This thread has left control because it blocks on a monitor for real.
    static OUTSIDE: Cell<bool> = const { Cell::new(false) };
}

pub fn acquire(token: &mut Token<'_, Jvm>, pc: u64, lock: u64) {
    if token.owner(lock) == token.id() {
        token.reenter(lock);
    } else {
        token.me().row.awaited.set(lock);
        shown_as(token, Status::Blocked, |token| {
            while token.acquire(pc, lock, LockMode::Exclusive, Deadline::Never).is_err() {}
        });
        token.me().row.awaited.set(0);
    }
}

/// The monitor is free again. One that the model did not see being taken is nobody's here.
pub fn release(token: &mut Token<'_, Jvm>, pc: u64, lock: u64) {
    if token.owner(lock) == token.id() {
        let _ = token.release(pc, lock);
    }
}

/// The machine has taken a monitor, and nothing was done with it yet: gives it back. Returns how often it was entered,
/// 0 if the model need not be asked any more.
pub unsafe extern "system" fn give_back(env: Env, _: Class, object: Object, lock: u64) -> i32 {
    if !threads::is_recorded() || threads::has_asked_for(lock) { 0 } else { leave_monitor(env, object) as i32 }
}

pub unsafe extern "system" fn take(env: Env, _: Class, object: Object, times: i32) {
    enter_monitor(env, object, times as u32);
}

pub unsafe extern "system" fn contended_enter(_: Jvmti, env: Env, _: Object, object: Object) {
    if threads::is_managed() && !ask_first(env, object) && !unseen::await_owner(env, object) {
        OUTSIDE.set(threads::leave(env));
    }
}

/// Waits in the model for a monitor that another thread has there. Only at the entry of a method whose body then tells
/// the model; whether it did.
fn ask_first(env: Env, object: Object) -> bool {
    let lock = threads::aside(|| agent().known().known_address(env, object));
    let is_anothers = |inside: &mut Token<'_, Jvm>| {
        let owner = inside.owner(lock);
        owner != inside.id() && inside.thread(owner).is_some()
    };
    if lock == 0 || !threads::is_recorded() || threads::enter(env, |inside| is_anothers(inside)) != Some(true) {
        return false;
    }
    let Some(pc) = entered_method() else { return false };
    let asked = threads::enter(env, |inside| {
        acquire(inside, pc, lock);
        inside.me().row.asked.set(lock);
    });
    asked.is_some()
}

/// Where the body of the method that is about to begin tells the model of its monitor, if it does so.
fn entered_method() -> Option<u64> {
    let jvmti = agent().jvmti;
    let mut frame = FrameInfo { method: std::ptr::null_mut(), location: 0 };
    let mut count = 0;
    // SAFETY: the calling thread, and room for one frame.
    unsafe { jvmti.get_stack_trace(std::ptr::null_mut(), 0, 1, &raw mut frame, &raw mut count) };
    if count != 1 {
        return None;
    }
    let method = jvmti.about_method(frame.method).filter(|method| method.modifiers & access::SYNCHRONIZED != 0)?;
    agent().classes().entry_of_synchronized(&method)
}

pub unsafe extern "system" fn contended_entered(_: Jvmti, env: Env, _: Object, _: Object) {
    if OUTSIDE.replace(false) {
        threads::come_back(env);
    }
}

/// `Object.wait`.
pub unsafe extern "system" fn wait(env: Env, object: Object, milliseconds: i64) {
    let (known, real) = (agent().known(), replaced::real());
    let modelled = threads::is_managed() && milliseconds >= 0 && known.holds_lock(env, object);
    if !modelled {
        // SAFETY: the machine's own function: throws, or waits as a thread that nobody controls.
        return unsafe { (real.monitor_wait)(env, object, milliseconds) };
    }
    if interrupts::take(env) {
        return interrupts::throw(env);
    }
    let child = threads::number(object).filter(|_| joins::is_join());
    if child.is_some_and(|child| joins::join(env, object, child, milliseconds)) {
        return;
    }
    let lock = known.address_of(env, object);
    let mut depth = 0;
    let reason = threads::enter(env, |inside| {
        stacks::at_call(inside, |token, pc| {
            let known = token.owner(lock) == token.id();
            if child.is_some() && !known {
                // `Thread.join` has no hooks: the model is told here that the monitor is taken and given back.
                acquire(token, pc, lock);
            } else if !known {
                // A monitor that code took which has no hooks: the model knows it for the time of the wait.
                token.seize(pc, lock, false);
            }
            token.me().wait.cancelled.set(false);
            let has_ended = child.is_some_and(|child| !token.is_alive(child));
            if let Some(child) = child.filter(|_| !has_ended) {
                joins::see_alive(token, pc, child);
            }
            let deadline = deadline(token, milliseconds);
            let reason = if has_ended {
                WakeReason::Notified
            } else {
                // Code that has no hooks enters the monitor as soon as it is left, whatever the model says.
                let let_go = |token: &mut Token<'_, Jvm>| {
                    depth = leave_monitor(env, object);
                    unseen::look_after(token, env);
                };
                shown_as(token, waiting(milliseconds), |token| token.wait_letting_go(pc, lock, lock, deadline, let_go))
            };
            token.me().wait.cancelled.set(false);
            if !known {
                // Nor does it say when it leaves it.
                release(token, pc, lock);
            }
            reason
        })
    });
    enter_monitor(env, object, depth);
    if let Some(child) = child {
        joins::settle(env, object, child);
    }
    if reason == Some(WakeReason::Cancelled) && interrupts::take(env) {
        interrupts::throw(env);
    }
}

pub const fn waiting(milliseconds: i64) -> Status {
    if milliseconds == 0 { Status::Waiting } else { Status::TimedWaiting }
}

pub fn deadline(token: &Token<'_, Jvm>, milliseconds: i64) -> Deadline {
    if milliseconds == 0 { Deadline::Never } else { Deadline::At(token.now() + milliseconds as u64 * 1_000_000) }
}

/// Leaves a monitor altogether; returns how often it was really entered, which compiled code may do less often than the
/// program says.
pub fn leave_monitor(env: Env, object: Object) -> u32 {
    let mut depth = 0;
    while agent().known().holds_lock(env, object) {
        // SAFETY: a monitor that this thread is in.
        unsafe { env.monitor_exit(object) };
        depth += 1;
    }
    depth
}

pub fn enter_monitor(env: Env, object: Object, depth: u32) {
    for _ in 0..depth {
        // SAFETY: a valid reference.
        unsafe { env.monitor_enter(object) };
    }
}

pub unsafe extern "system" fn notify(env: Env, object: Object) {
    notify_some(env, object, false);
    // SAFETY: the machine's own function: wakes threads that nobody controls, and throws if the monitor is another's.
    unsafe { (replaced::real().monitor_notify)(env, object) };
}

pub unsafe extern "system" fn notify_all(env: Env, object: Object) {
    notify_some(env, object, true);
    // SAFETY: as above.
    unsafe { (replaced::real().monitor_notify_all)(env, object) };
}

fn notify_some(env: Env, object: Object, all: bool) {
    let known = agent().known();
    if threads::is_managed() && known.holds_lock(env, object) {
        // Nobody waits for what has no address.
        let lock = known.known_address(env, object);
        if lock != 0 {
            threads::enter(env, |inside| stacks::at_call(inside, |token, pc| token.notify(pc, lock, all)));
        }
    }
}
