//! Mutexes, spin locks and read-write locks: wholly modelled, libc's own state is never touched. Mutexes that are
//! robust or shared between processes are the exception: those calls go to libc.

use super::{Inside, enter, time};
use libc::{
    c_int, pthread_mutex_t, pthread_mutexattr_t, pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t, timespec,
};
use reweave_conductor::Deadline;
use reweave_model::{LockMode, Misuse, ObjectKind, RefusedWhy};

/// `__kind` of glibc's mutex: the low bits are the type, bit 7 says process-shared, bit 4 robust.
fn kind_of(mutex: *const pthread_mutex_t) -> c_int {
    // SAFETY: a valid mutex; the field's place is part of the static initialisers' ABI.
    unsafe { *mutex.cast::<c_int>().add(4) }
}

const SHARED: c_int = 128;
const ROBUST: c_int = 16;
const RECURSIVE: c_int = libc::PTHREAD_MUTEX_RECURSIVE;
const ERRORCHECK: c_int = libc::PTHREAD_MUTEX_ERRORCHECK;

/// Whether libc must handle it: other processes may hold it.
pub fn beyond_us(mutex: *const pthread_mutex_t) -> bool {
    kind_of(mutex) & (SHARED | ROBUST) != 0
}

/// Locks a mutex of any type.
pub fn lock_mutex(inside: &mut Inside, pc: u64, mutex: *mut pthread_mutex_t, deadline: Deadline) -> c_int {
    lock(inside, pc, mutex as u64, kind_of(mutex) & 3, deadline)
}

/// `kind`: recursive and error-checking mutexes answer a second lock by their owner differently.
pub fn lock(inside: &mut Inside, pc: u64, lock: u64, kind: c_int, deadline: Deadline) -> c_int {
    if inside.owner(lock) == inside.id() {
        match kind {
            RECURSIVE => {
                inside.reenter(lock);
                return 0;
            }
            ERRORCHECK if deadline != Deadline::Now => {
                inside.misused(pc, Misuse::DoubleLock, lock);
                return libc::EDEADLK;
            }
            _ if deadline == Deadline::Never => {
                inside.misused(pc, Misuse::DoubleLock, lock);
            }
            _ => {}
        }
    }
    refusal(inside.acquire(pc, lock, LockMode::Exclusive, deadline))
}

fn refusal(result: Result<(), RefusedWhy>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(RefusedWhy::Busy) => libc::EBUSY,
        Err(RefusedWhy::TimedOut) => libc::ETIMEDOUT,
        Err(RefusedWhy::Error) => libc::EDEADLK,
        Err(RefusedWhy::Interrupted) => libc::EINTR,
    }
}

/// Whether libc refuses to unlock it for somebody else.
pub fn checks_owner(mutex: *const pthread_mutex_t) -> bool {
    matches!(kind_of(mutex) & 3, RECURSIVE | ERRORCHECK)
}

pub fn unlock(inside: &mut Inside, pc: u64, lock: u64, checks: bool) -> c_int {
    match inside.release(pc, lock) {
        Ok(()) => 0,
        Err(_) if checks => libc::EPERM,
        Err(_) => {
            // What libc does with a normal mutex: it is open afterwards, whoever held it.
            inside.force_release(lock);
            0
        }
    }
}

fn destroy(inside: &mut Inside, pc: u64, object: u64, kind: ObjectKind) -> c_int {
    match inside.destroy(pc, object, kind) {
        Ok(()) => 0,
        Err(_) => libc::EBUSY,
    }
}

type MutexCall = unsafe extern "C-unwind" fn(*mut pthread_mutex_t) -> c_int;
type TimedCall = unsafe extern "C-unwind" fn(*mut pthread_mutex_t, *const timespec) -> c_int;
type ClockCall = unsafe extern "C-unwind" fn(*mut pthread_mutex_t, libc::clockid_t, *const timespec) -> c_int;

interpose! {
    fn pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t; pc) -> c_int {
        type Init = unsafe extern "C-unwind" fn(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> c_int;
        // libc writes the type into the mutex.
        let status = real!(pthread_mutex_init: Init)(mutex, attributes);
        if let Some(mut inside) = enter() {
            inside.create(pc, mutex as u64, ObjectKind::Mutex, kind_of(mutex) as u32 & 3);
        }
        status
    }

    fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(mutex) => destroy(&mut inside, pc, mutex as u64, ObjectKind::Mutex),
            _ => real!(pthread_mutex_destroy: MutexCall)(mutex),
        }
    }

    fn pthread_mutex_lock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(mutex) => lock_mutex(&mut inside, pc, mutex, Deadline::Never),
            Some(mut inside) => super::super::system::blocking(&mut inside, pc, 0, || real!(pthread_mutex_lock: MutexCall)(mutex)),
            None => real!(pthread_mutex_lock: MutexCall)(mutex),
        }
    }

    fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(mutex) => lock_mutex(&mut inside, pc, mutex, Deadline::Now),
            _ => real!(pthread_mutex_trylock: MutexCall)(mutex),
        }
    }

    fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(mutex) => {
                let deadline = time::deadline(libc::CLOCK_REALTIME, until);
                lock_mutex(&mut inside, pc, mutex, deadline)
            }
            _ => real!(pthread_mutex_timedlock: TimedCall)(mutex, until),
        }
    }

    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: libc::clockid_t, until: *const timespec; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(mutex) => {
                let deadline = time::deadline(clock, until);
                lock_mutex(&mut inside, pc, mutex, deadline)
            }
            _ => real!(pthread_mutex_clocklock: ClockCall)(mutex, clock, until),
        }
    }

    fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(mutex) => {
                unlock(&mut inside, pc, mutex as u64, checks_owner(mutex))
            }
            _ => real!(pthread_mutex_unlock: MutexCall)(mutex),
        }
    }

    fn pthread_spin_init(spin: *mut pthread_spinlock_t, shared: c_int; pc) -> c_int {
        let status = real!(pthread_spin_init: unsafe extern "C-unwind" fn(*mut pthread_spinlock_t, c_int) -> c_int)(spin, shared);
        if let Some(mut inside) = enter() {
            inside.create(pc, spin as u64, ObjectKind::SpinLock, 0);
        }
        status
    }

    fn pthread_spin_destroy(spin: *mut pthread_spinlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => destroy(&mut inside, pc, spin as u64, ObjectKind::SpinLock),
            None => 0,
        }
    }

    fn pthread_spin_lock(spin: *mut pthread_spinlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => lock(&mut inside, pc, spin as u64, 0, Deadline::Never),
            None => real!(pthread_spin_lock: unsafe extern "C-unwind" fn(*mut pthread_spinlock_t) -> c_int)(spin),
        }
    }

    fn pthread_spin_trylock(spin: *mut pthread_spinlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => lock(&mut inside, pc, spin as u64, 0, Deadline::Now),
            None => real!(pthread_spin_trylock: unsafe extern "C-unwind" fn(*mut pthread_spinlock_t) -> c_int)(spin),
        }
    }

    fn pthread_spin_unlock(spin: *mut pthread_spinlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => unlock(&mut inside, pc, spin as u64, false),
            None => real!(pthread_spin_unlock: unsafe extern "C-unwind" fn(*mut pthread_spinlock_t) -> c_int)(spin),
        }
    }
}

type RwCall = unsafe extern "C-unwind" fn(*mut pthread_rwlock_t) -> c_int;
type RwTimed = unsafe extern "C-unwind" fn(*mut pthread_rwlock_t, *const timespec) -> c_int;
type RwClock = unsafe extern "C-unwind" fn(*mut pthread_rwlock_t, libc::clockid_t, *const timespec) -> c_int;

/// Locks a read-write lock; a thread that would wait for itself gets EDEADLK, as in libc.
fn rw(inside: &mut Inside, pc: u64, lock: *mut pthread_rwlock_t, mode: LockMode, deadline: Deadline) -> c_int {
    if inside.owner(lock as u64) == inside.id() && deadline != Deadline::Now {
        inside.misused(pc, Misuse::DoubleLock, lock as u64);
        return libc::EDEADLK;
    }
    refusal(inside.acquire(pc, lock as u64, mode, deadline))
}

interpose! {
    fn pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t; pc) -> c_int {
        type Init = unsafe extern "C-unwind" fn(*mut pthread_rwlock_t, *const pthread_rwlockattr_t) -> c_int;
        let status = real!(pthread_rwlock_init: Init)(lock, attributes);
        if let Some(mut inside) = enter() {
            inside.create(pc, lock as u64, ObjectKind::RwLock, 0);
        }
        status
    }

    fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => destroy(&mut inside, pc, lock as u64, ObjectKind::RwLock),
            None => real!(pthread_rwlock_destroy: RwCall)(lock),
        }
    }

    fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => rw(&mut inside, pc, lock, LockMode::Shared, Deadline::Never),
            None => real!(pthread_rwlock_rdlock: RwCall)(lock),
        }
    }

    fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => rw(&mut inside, pc, lock, LockMode::Exclusive, Deadline::Never),
            None => real!(pthread_rwlock_wrlock: RwCall)(lock),
        }
    }

    fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => rw(&mut inside, pc, lock, LockMode::Shared, Deadline::Now),
            None => real!(pthread_rwlock_tryrdlock: RwCall)(lock),
        }
    }

    fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => rw(&mut inside, pc, lock, LockMode::Exclusive, Deadline::Now),
            None => real!(pthread_rwlock_trywrlock: RwCall)(lock),
        }
    }

    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec; pc) -> c_int {
        match enter() {
            Some(mut inside) => rw(&mut inside, pc, lock, LockMode::Shared, time::deadline(libc::CLOCK_REALTIME, until)),
            None => real!(pthread_rwlock_timedrdlock: RwTimed)(lock, until),
        }
    }

    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec; pc) -> c_int {
        match enter() {
            Some(mut inside) => rw(&mut inside, pc, lock, LockMode::Exclusive, time::deadline(libc::CLOCK_REALTIME, until)),
            None => real!(pthread_rwlock_timedwrlock: RwTimed)(lock, until),
        }
    }

    fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: libc::clockid_t, until: *const timespec; pc) -> c_int {
        match enter() {
            Some(mut inside) => rw(&mut inside, pc, lock, LockMode::Shared, time::deadline(clock, until)),
            None => real!(pthread_rwlock_clockrdlock: RwClock)(lock, clock, until),
        }
    }

    fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: libc::clockid_t, until: *const timespec; pc) -> c_int {
        match enter() {
            Some(mut inside) => rw(&mut inside, pc, lock, LockMode::Exclusive, time::deadline(clock, until)),
            None => real!(pthread_rwlock_clockwrlock: RwClock)(lock, clock, until),
        }
    }

    fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => unlock(&mut inside, pc, lock as u64, false),
            None => real!(pthread_rwlock_unlock: RwCall)(lock),
        }
    }
}
