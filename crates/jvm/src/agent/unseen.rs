//! Monitors that the model does not know: those of the JDK's classes that have no hooks. A thread may have to stop while
//! it has one. Who then needs it waits in the model, too, so that it depends on the schedule alone when it goes on: the
//! model takes the owner to have a lock of that name until the owner, at one of its next operations, no longer has the
//! monitor.

use super::agent;
use super::jni::{Env, Object};
use super::jvmti::MonitorUsage;
use super::status::{Status, shown_as};
use super::threads::{self, Jvm};
use reweave_guest::model::BlockedOn;
use reweave_guest::{Deadline, Token};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A monitor that another thread waits for.
struct Unseen {
    /// A global reference.
    object: u64,
    owner: u32,
    /// What the model calls it.
    lock: u64,
}

static AWAITED: Mutex<Vec<Unseen>> = Mutex::new(Vec::new());
static ANY_AWAITED: AtomicBool = AtomicBool::new(false);
static NEXT_LOCK: AtomicU64 = AtomicU64::new(0x0880_0000_0000);

fn awaited() -> MutexGuard<'static, Vec<Unseen>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread under control that is in the monitor of an object.
fn owner(env: Env, object: Object) -> Option<u32> {
    let jvmti = agent().jvmti;
    let mut usage = MonitorUsage::default();
    // SAFETY: a valid reference, and a structure that the machine fills; its lists and references are given back.
    unsafe {
        if jvmti.get_object_monitor_usage(object, &raw mut usage) != 0 {
            return None;
        }
        jvmti.deallocate(usage.waiters.cast());
        jvmti.deallocate(usage.notify_waiters.cast());
        let owner = if usage.owner.is_null() { None } else { threads::number(usage.owner) };
        env.delete_local_ref(usage.owner);
        owner
    }
}

/// This thread is about to block on a monitor that the model does not know: waits in the model until the owner has left
/// it. False: the owner is nobody's here.
pub fn await_owner(env: Env, object: Object) -> bool {
    let mut known = false;
    while let Some(owner) = owner(env, object) {
        let waited = threads::enter(env, |inside| {
            if owner == inside.id() || inside.thread(owner).is_none() {
                return false;
            }
            let lock = enlist(env, object, owner);
            let state = inside.objects().locks.at(lock);
            (state.owner, state.depth) = (owner, 1);
            shown_as(inside, Status::Blocked, |token| token.block(BlockedOn::LockExclusive, lock, Deadline::Never));
            true
        });
        if waited != Some(true) {
            return false;
        }
        known = true;
    }
    known
}

/// What the model calls the monitor as long as that thread has it.
fn enlist(env: Env, object: Object, owner: u32) -> u64 {
    let mut awaited = awaited();
    // SAFETY: valid references.
    let same = |own: &&Unseen| own.owner == owner && unsafe { env.is_same_object(own.object as Object, object) } != 0;
    if let Some(own) = awaited.iter().find(same) {
        return own.lock;
    }
    let lock = NEXT_LOCK.fetch_add(8, Ordering::Relaxed);
    // SAFETY: a valid reference.
    awaited.push(Unseen { object: unsafe { env.new_global_ref(object) } as u64, owner, lock });
    ANY_AWAITED.store(true, Ordering::Relaxed);
    lock
}

/// Frees what this thread has left meanwhile.
pub fn look_after(token: &mut Token<'_, Jvm>, env: Env) {
    if !ANY_AWAITED.load(Ordering::Relaxed) {
        return;
    }
    let (own, known) = (token.id(), agent().known());
    let mut awaited = awaited();
    awaited.retain(|unseen| {
        let object = unseen.object as Object;
        if unseen.owner != own || known.holds_lock(env, object) {
            return true;
        }
        token.objects().locks.remove(unseen.lock);
        // SAFETY: made by `enlist`.
        unsafe { env.delete_global_ref(object) };
        false
    });
    ANY_AWAITED.store(!awaited.is_empty(), Ordering::Relaxed);
}
