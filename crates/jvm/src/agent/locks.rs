//! Locks of `java.util.concurrent` that are seen as a whole. As with monitors: first in the model, then really, so the
//! real one is free whenever the model lets a thread have it. Within their methods nothing is recorded and nobody is
//! preempted.

use super::jni::{Class, Env};
use super::threads::{self, Jvm};
use super::{agent, monitors};
use crate::rewrite::LockCall;
use crate::rewrite::facts::SiteKind;
use reweave_guest::model::LockMode;
use reweave_guest::{Deadline, Token};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Locks by the hash of what they are made of, which is all that a condition knows.
static BY_SYNC: LazyLock<Mutex<HashMap<i32, u64>>> = LazyLock::new(Mutex::default);

fn call_at(site: i32) -> (Option<LockCall>, u64) {
    let classes = agent().classes();
    let call = classes.site(site as u32).and_then(|(_, site)| match site.kind {
        SiteKind::Lock(call) => Some(call),
        _ => None,
    });
    (call, classes.pc(site as u32))
}

/// A method of a lock begins.
pub unsafe extern "system" fn enter(env: Env, _: Class, lock: u64, sync: i32, site: i32) {
    BY_SYNC.lock().unwrap_or_else(PoisonError::into_inner).insert(sync, lock);
    let (call, pc) = call_at(site);
    threads::enter(env, |inside| {
        match call {
            Some(LockCall::Lock) => monitors::acquire(inside, pc, lock),
            Some(LockCall::TryLock) if inside.owner(lock) == inside.id() => inside.reenter(lock),
            Some(LockCall::TryLock) => {
                let _ = inside.acquire(pc, lock, LockMode::Exclusive, Deadline::Now);
            }
            _ => {}
        }
        threads::be_quiet(inside, true);
    });
}

/// It ends, and has done what it should.
pub unsafe extern "system" fn leave(env: Env, _: Class, lock: u64, site: i32, done: u8) {
    let (call, pc) = call_at(site);
    threads::enter(env, |inside| {
        threads::be_quiet(inside, false);
        match call {
            Some(LockCall::TakeOrGiveUp) if done != 0 => {
                if inside.owner(lock) == inside.id() {
                    inside.reenter(lock);
                } else {
                    inside.seize(pc, lock);
                }
            }
            Some(LockCall::Unlock) if done != 0 => monitors::release(inside, pc, lock),
            // Not granted after all, in the machine or by an exception.
            Some(LockCall::Lock | LockCall::TryLock) if done == 0 => monitors::release(inside, pc, lock),
            _ => {}
        }
    });
}

/// A wait for a condition has given the lock up altogether, or is about to take it back.
pub unsafe extern "system" fn condition_wait(env: Env, _: Class, sync: i32, site: i32, begins: u8) {
    let lock = BY_SYNC.lock().unwrap_or_else(PoisonError::into_inner).get(&sync).copied();
    let Some(lock) = lock else { return };
    let pc = agent().classes().pc(site as u32);
    threads::enter(env, |inside| {
        if begins != 0 {
            let depth = give_up(inside, pc, lock);
            inside.me().row.depth.set(depth);
        } else {
            for _ in 0..inside.me().row.depth.replace(0) {
                monitors::acquire(inside, pc, lock);
            }
        }
    });
}

/// Gives a lock back as often as the thread has taken it; says how often that was.
fn give_up(token: &mut Token<'_, Jvm>, pc: u64, lock: u64) -> u32 {
    let mut depth = 0;
    while token.owner(lock) == token.id() {
        monitors::release(token, pc, lock);
        depth += 1;
    }
    depth
}
