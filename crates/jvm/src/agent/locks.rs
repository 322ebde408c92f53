//! Locks of `java.util.concurrent` that are seen as a whole. As with monitors: first in the model, then really, so the
//! real one is free whenever the model lets a thread have it. Within their methods nothing is recorded and nobody is
//! preempted.

use super::jni::{Class, Env};
use super::threads::{self, Jvm};
use super::{agent, monitors, stacks};
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

/// Runs an operation on a lock: for people it happens where the program called the lock, if it did so itself.
fn at<R>(token: &mut Token<'_, Jvm>, pc: u64, code: impl FnOnce(&mut Token<'_, Jvm>, u64) -> R) -> R {
    let called = token.me().row.called.get();
    if called != 0 && called == token.me().own.stack() { stacks::at_call(token, code) } else { code(token, pc) }
}

/// A method of a lock begins. `queued`: others wait for the lock in the machine, which would let them have it first, so
/// it has to be really taken before it is in the model. Says whether the thread has newly taken it in the model, by an
/// operation that may have to wait.
pub unsafe extern "system" fn enter(env: Env, _: Class, lock: u64, sync: i32, site: i32, queued: u8) -> u8 {
    BY_SYNC.lock().unwrap_or_else(PoisonError::into_inner).insert(sync, lock);
    let (call, pc) = call_at(site);
    let taken = threads::enter(env, |inside| {
        let again = inside.owner(lock) == inside.id();
        at(inside, pc, |token, pc| match call {
            Some(LockCall::Lock) if queued == 0 || again => monitors::acquire(token, pc, lock),
            Some(LockCall::TryLock) if again => token.reenter(lock),
            Some(LockCall::TryLock) => {
                let _ = token.acquire(pc, lock, LockMode::Exclusive, Deadline::Now);
            }
            _ => {}
        });
        threads::be_quiet(inside, true);
        call == Some(LockCall::Lock) && queued == 0 && !again
    });
    taken.unwrap_or(false).into()
}

/// It ends, and has done what it should.
pub unsafe extern "system" fn leave(env: Env, _: Class, lock: u64, site: i32, done: u8) {
    let (call, pc) = call_at(site);
    threads::enter(env, |inside| {
        at(inside, pc, |token, pc| match call {
            // Taken in the model already, unless others were first in the machine.
            Some(LockCall::Lock) if done != 0 && token.owner(lock) == token.id() => {}
            Some(call @ (LockCall::Lock | LockCall::TakeOrGiveUp | LockCall::TimedLock)) if done != 0 => {
                if token.owner(lock) == token.id() {
                    token.reenter(lock);
                } else {
                    token.seize(pc, lock, call == LockCall::TimedLock);
                }
            }
            Some(LockCall::Unlock) if done != 0 => monitors::release(token, pc, lock),
            // Not granted after all, in the machine or by an exception.
            Some(LockCall::Lock | LockCall::TryLock) if done == 0 => monitors::release(token, pc, lock),
            _ => {}
        });
        // Others may come as soon as this is over.
        threads::be_quiet(inside, false);
    });
}

/// A wait for a condition gives the lock up altogether and takes it back: in the model right after the machine has.
/// Those that were woken take it back in the order in which the machine has them, which the model does not know.
pub unsafe extern "system" fn condition_wait(env: Env, _: Class, sync: i32, site: i32, phase: i32) {
    let lock = BY_SYNC.lock().unwrap_or_else(PoisonError::into_inner).get(&sync).copied();
    let Some(lock) = lock else { return };
    let pc = agent().classes().pc(site as u32);
    threads::enter(env, |inside| match phase {
        // A thread that does not have the lock gets an exception for it.
        0 if inside.owner(lock) == inside.id() => {
            inside.me().row.depth.set(GIVING_UP);
            threads::be_quiet(inside, true);
        }
        1 if inside.me().row.depth.get() == GIVING_UP => {
            let depth = at(inside, pc, |token, pc| give_up(token, pc, lock));
            inside.me().row.depth.set(depth);
            threads::be_quiet(inside, false);
        }
        2 if inside.me().row.depth.get() > 0 => threads::be_quiet(inside, true),
        3 if inside.me().row.depth.get() > 0 => {
            let depth = inside.me().row.depth.replace(0);
            at(inside, pc, |token, pc| {
                token.seize(pc, lock, false);
                (1..depth).for_each(|_| token.reenter(lock));
            });
            threads::be_quiet(inside, false);
        }
        _ => {}
    });
}

/// Stands for the depth while the lock is being given up.
const GIVING_UP: u32 = u32::MAX;

/// Gives a lock back as often as the thread has taken it; says how often that was.
fn give_up(token: &mut Token<'_, Jvm>, pc: u64, lock: u64) -> u32 {
    let mut depth = 0;
    while token.owner(lock) == token.id() {
        monitors::release(token, pc, lock);
        depth += 1;
    }
    depth
}
