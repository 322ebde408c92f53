//! Initializers of classes. The machine lets one thread initialize a class; all others that use it wait. As with
//! monitors: first in the model, then really. Inside nothing is recorded, and nobody is preempted, except where another
//! class is about to be initialized.

use super::jni::{Class, Env};
use super::space::NOTHING_RECORDED;
use super::threads::{self, Jvm};
use super::{agent, monitors, resolve, statics, status};
use crate::rewrite::facts::SiteKind;
use reweave_guest::Inside;
use reweave_guest::model::{Addr, AtomicKind, MemoryOrder, Op, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bits of the status of a class: its initializer has run, or has failed.
const SETTLED: i32 = 4 | 8;

/// Whether nothing of it is left to be done.
fn is_settled(class: Class) -> bool {
    let mut status = 0;
    // SAFETY: a valid reference.
    unsafe { agent().jvmti.get_class_status(class, &raw mut status) };
    status & SETTLED != 0
}

/// A class that was initialized while there were several threads: those that were there already see that it was.
#[derive(Default)]
struct Initialized {
    /// The highest number of a thread by then.
    newest: u32,
    /// Threads whose first use of the class is in the trace.
    seen_by: BTreeSet<u32>,
}

/// Such classes, by their locks.
static INITIALIZED: Mutex<BTreeMap<u64, Initialized>> = Mutex::new(BTreeMap::new());

fn initialized() -> MutexGuard<'static, BTreeMap<u64, Initialized>> {
    INITIALIZED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a class is initialized is a word beside its lock, which threads read and write with the lock held.
fn record(inside: &mut Inside<'_, Jvm>, pc: u64, lock: u64, kind: AtomicKind, value: u64) {
    let (read, written) = if kind == AtomicKind::Load { (value, 0) } else { (0, value) };
    let (read, written) = (Value::Word(read), Value::Word(written));
    inside.step(pc, Op::Atomic { kind, order: MemoryOrder::SeqCst, addr: Addr(lock), size: 8, read, written });
}

fn begins(inside: &mut Inside<'_, Jvm>, pc: u64, lock: u64) {
    record(inside, pc, lock, AtomicKind::Load, 0);
}

fn ends(inside: &mut Inside<'_, Jvm>, pc: u64, lock: u64) {
    record(inside, pc, lock, AtomicKind::Store, 1);
    let newest = status::newest();
    if newest > 0 {
        initialized().insert(lock, Initialized { newest, seen_by: BTreeSet::from([inside.id()]) });
    }
}

/// An initializer begins or ends, or another method in which nothing is recorded.
pub unsafe extern "system" fn bracket(env: Env, _: Class, site: i32, starts: u8) {
    let initializer = {
        let classes = agent().classes();
        let known = classes.site(site as u32).filter(|(loaded, site)| loaded.is_in_initializer(site));
        known.map(|(loaded, site)| (loaded.initializer(), loaded.pc(site)))
    };
    threads::enter(env, |inside| {
        if starts == 0 {
            statics::name(env, inside, site as u32);
        }
        if let Some((lock, pc)) = initializer {
            let row = &inside.me().row.initializing;
            row.set(if starts != 0 { row.get() + 1 } else { row.get().saturating_sub(1) });
            hold(inside, pc, lock, starts != 0);
        }
        threads::be_quiet(inside, starts != 0);
    });
}

/// The machine has let this thread initialize a class. It has the lock already if it came by a hook.
fn hold(inside: &mut Inside<'_, Jvm>, pc: u64, lock: u64, starts: bool) {
    let (owner, own) = (inside.owner(lock), inside.id());
    if starts && owner == own {
        inside.reenter(lock);
    } else if starts && inside.thread(owner).is_none() {
        inside.seize(pc, lock, false);
        begins(inside, pc, lock);
    } else if !starts && owner == own {
        if inside.objects().locks.get(lock).is_some_and(|own| own.depth == 1) {
            ends(inside, pc, lock);
        }
        monitors::release(inside, pc, lock);
    }
}

/// A class is used that may have to be initialized: this thread does that now, unless another is about to.
pub unsafe extern "system" fn use_class(env: Env, _: Class, site: i32) {
    let Some((class, pc)) = threads::aside(|| used(env, site as u32)) else { return };
    if is_settled(class) {
        return see(env, class, site as u32, pc);
    }
    let locks = pending(env, class);
    if locks.is_empty() {
        return;
    }
    let Some(taken) = threads::enter(env, |inside| take(inside, pc, &locks)) else { return };
    if taken.is_empty() {
        return;
    }
    let done = is_settled(class);
    let value = if done { 1 } else { 0 };
    threads::enter(env, |inside| taken.iter().for_each(|lock| record(inside, pc, *lock, AtomicKind::Load, value)));
    let mut exception = std::ptr::null_mut();
    if !done {
        agent().known().ensure_initialized(env, class);
        // SAFETY: may be called at any time.
        exception = unsafe { env.exception_occurred() };
        env.clear();
    }
    threads::enter(env, |inside| {
        for lock in taken.iter().rev() {
            if !done {
                ends(inside, pc, *lock);
            }
            monitors::release(inside, pc, *lock);
        }
    });
    if !exception.is_null() {
        // SAFETY: what the instruction behind the hook would have thrown.
        unsafe { env.throw(exception) };
    }
}

/// A class is used that is initialized. Had this thread come first, it would have had to do that: a thread that was
/// there by then has seen it, the first time.
fn see(env: Env, class: Class, site: u32, pc: u64) {
    let agent = agent();
    let signature = agent.jvmti.signature(class).unwrap_or_default();
    let lock = agent.classes().initializer(env, class, &signature).map_or(0, |(lock, _)| lock);
    let newest = initialized().get(&lock).map(|own| own.newest);
    let entry = agent.hot.site(site);
    let Some(newest) = newest else {
        entry.head = NOTHING_RECORDED;
        return;
    };
    threads::enter(env, |inside| {
        let own = inside.id();
        let first = own <= newest && initialized().get_mut(&lock).is_some_and(|known| known.seen_by.insert(own));
        if first && !take(inside, pc, &[lock]).is_empty() {
            record(inside, pc, lock, AtomicKind::Load, 1);
            monitors::release(inside, pc, lock);
        }
        // It need not ask again as long as no other thread does.
        entry.a = (agent.hot.budget.load(Ordering::Relaxed) >> 3) as u32;
    });
}

/// The class that a site uses, and the place.
fn used(env: Env, number: u32) -> Option<(Class, u64)> {
    let (own, name, pc) = {
        let classes = agent().classes();
        let (loaded, site) = classes.site(number).filter(|(_, site)| site.kind == SiteKind::UseClass)?;
        (loaded.class, loaded.facts.members.get(site.member as usize)?.class.clone(), loaded.pc(site))
    };
    if own.is_null() {
        return None;
    }
    Some((resolve::class_named(env, own, &name)?, pc))
}

/// Locks of the initializers that have to run: that of the class, and then of those above it. None if none of them has
/// anything to do.
fn pending(env: Env, class: Class) -> Vec<u64> {
    let (mut locks, mut any, mut next) = (Vec::new(), false, class);
    while !next.is_null() && !is_settled(next) {
        let signature = agent().jvmti.signature(next).unwrap_or_default();
        if let Some((lock, has_code)) = agent().classes().initializer(env, next, &signature) {
            locks.push(lock);
            any |= has_code;
        }
        // SAFETY: a valid reference.
        next = unsafe { env.get_superclass(next) };
    }
    if any { locks } else { Vec::new() }
}

/// Takes these locks in turn, up to one that the thread has already. Others may come in between, also in an initializer.
fn take(inside: &mut Inside<'_, Jvm>, pc: u64, locks: &[u64]) -> Vec<u64> {
    let row = &inside.me().row;
    let (quiet, initializing) = (row.quiet.get(), row.initializing.get());
    let allowed = if quiet == initializing { quiet } else { 0 };
    (0..allowed).for_each(|_| inside.allow_preemption());
    let mut taken = Vec::new();
    for lock in locks {
        if inside.owner(*lock) == inside.id() {
            break;
        }
        monitors::acquire(inside, pc, *lock);
        taken.push(*lock);
    }
    (0..allowed).for_each(|_| inside.forbid_preemption());
    taken
}
