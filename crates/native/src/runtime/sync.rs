//! Condition variables, barriers and semaphores.

use super::{Inside, Token, enter, locks, signals, threads, time};
use libc::{
    c_int, c_uint, pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t,
    sem_t, timespec,
};
use reweave_conductor::{Deadline, Wakeup};
use reweave_model::{Misuse, ObjectKind, WakeReason};

type CondCall = unsafe extern "C-unwind" fn(*mut pthread_cond_t) -> c_int;

/// Waits on a condition variable, for pthreads and C11.
pub fn wait(inside: &mut Inside, pc: u64, condition: u64, mutex: u64, deadline: Deadline) -> c_int {
    if inside.owner(mutex) != inside.id() {
        inside.misused(pc, Misuse::UnlockByNonOwner, mutex);
        if locks::checks_owner(mutex as *const pthread_mutex_t) {
            return libc::EPERM;
        }
        // What libc does with a normal mutex: it is opened, whoever holds it, and taken when the wait is over.
        inside.force_release(mutex);
        inside.seize(pc, mutex, false);
    }
    match inside.wait(pc, condition, mutex, deadline) {
        WakeReason::Notified | WakeReason::Spurious => 0,
        WakeReason::TimedOut => libc::ETIMEDOUT,
        WakeReason::Cancelled => {
            inside.call_back(threads::cancel_point);
            0
        }
    }
}

/// The clock a condition variable was made with.
fn clock_of(condition: *const pthread_cond_t) -> libc::clockid_t {
    // SAFETY: a valid condition variable; glibc keeps the clock in bit 1 of `__wrefs` (word 9).
    let flags = unsafe { *condition.cast::<u32>().add(9) };
    if flags & 2 != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

interpose! {
    fn pthread_cond_init(condition: *mut pthread_cond_t, attributes: *const pthread_condattr_t; pc) -> c_int {
        type Init = unsafe extern "C-unwind" fn(*mut pthread_cond_t, *const pthread_condattr_t) -> c_int;
        let status = real!(pthread_cond_init: Init)(condition, attributes);
        if let Some(mut inside) = enter() {
            inside.create(pc, condition as u64, ObjectKind::Condition, 0);
        }
        status
    }

    /// `std::condition_variable` is made without a call of libc's, but destroyed with one.
    fn _ZNSt18condition_variableC1Ev(condition: *mut pthread_cond_t; pc) {
        real!(_ZNSt18condition_variableC1Ev: unsafe extern "C-unwind" fn(*mut pthread_cond_t))(condition);
        if let Some(mut inside) = enter() {
            inside.create(pc, condition as u64, ObjectKind::Condition, 0);
        }
    }

    fn pthread_cond_destroy(condition: *mut pthread_cond_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => inside.destroy(pc, condition as u64, ObjectKind::Condition).map_or(libc::EBUSY, |()| 0),
            None => real!(pthread_cond_destroy: CondCall)(condition),
        }
    }

    fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t; pc) -> c_int {
        type Wait = unsafe extern "C-unwind" fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int;
        match enter() {
            // Whoever signals it may be another process.
            Some(mut inside) if locks::beyond_us(mutex) => {
                super::super::system::blocking(&mut inside, pc, libc::SYS_futex as u32, || real!(pthread_cond_wait: Wait)(condition, mutex))
            }
            Some(mut inside) => wait(&mut inside, pc, condition as u64, mutex as u64, Deadline::Never),
            None => real!(pthread_cond_wait: Wait)(condition, mutex),
        }
    }

    fn pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec; pc) -> c_int {
        type Wait = unsafe extern "C-unwind" fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int;
        match enter() {
            Some(mut inside) => {
                let deadline = time::deadline(clock_of(condition), until);
                wait(&mut inside, pc, condition as u64, mutex as u64, deadline)
            }
            None => real!(pthread_cond_timedwait: Wait)(condition, mutex, until),
        }
    }

    fn pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: libc::clockid_t, until: *const timespec; pc) -> c_int {
        type Wait = unsafe extern "C-unwind" fn(*mut pthread_cond_t, *mut pthread_mutex_t, libc::clockid_t, *const timespec) -> c_int;
        match enter() {
            Some(mut inside) => wait(&mut inside, pc, condition as u64, mutex as u64, time::deadline(clock, until)),
            None => real!(pthread_cond_clockwait: Wait)(condition, mutex, clock, until),
        }
    }

    fn pthread_cond_signal(condition: *mut pthread_cond_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => {
                inside.notify(pc, condition as u64, false);
                real!(pthread_cond_signal: CondCall)(condition)
            }
            None => real!(pthread_cond_signal: CondCall)(condition),
        }
    }

    fn pthread_cond_broadcast(condition: *mut pthread_cond_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => {
                inside.notify(pc, condition as u64, true);
                real!(pthread_cond_broadcast: CondCall)(condition)
            }
            None => real!(pthread_cond_broadcast: CondCall)(condition),
        }
    }

    fn pthread_barrier_init(barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, count: c_uint; pc) -> c_int {
        type Init = unsafe extern "C-unwind" fn(*mut pthread_barrier_t, *const pthread_barrierattr_t, c_uint) -> c_int;
        let status = real!(pthread_barrier_init: Init)(barrier, attributes, count);
        if status == 0 && let Some(mut inside) = enter() {
            inside.create(pc, barrier as u64, ObjectKind::Barrier, count);
        }
        status
    }

    fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => inside.destroy(pc, barrier as u64, ObjectKind::Barrier).map_or(libc::EBUSY, |()| 0),
            None => real!(pthread_barrier_destroy: unsafe extern "C-unwind" fn(*mut pthread_barrier_t) -> c_int)(barrier),
        }
    }

    fn pthread_barrier_wait(barrier: *mut pthread_barrier_t; pc) -> c_int {
        match enter() {
            Some(mut inside) => {
                let serial = inside.barrier(pc, barrier as u64);
                if serial { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
            }
            None => real!(pthread_barrier_wait: unsafe extern "C-unwind" fn(*mut pthread_barrier_t) -> c_int)(barrier),
        }
    }
}

type SemCall = unsafe extern "C-unwind" fn(*mut sem_t) -> c_int;

/// A semaphore that other processes may share: libc handles it.
fn beyond_us(token: &Token<'_>, semaphore: *const sem_t) -> bool {
    !token.peek_objects().semaphores.contains_key(&(semaphore as u64))
}

fn take(inside: &mut Inside, pc: u64, semaphore: *mut sem_t, deadline: Deadline) -> c_int {
    let errno = match inside.semaphore_take(pc, semaphore as u64, deadline) {
        Wakeup::Interrupted if signals::restarts(&inside.me().interrupts) => {
            signals::deliver(inside);
            return take(inside, pc, semaphore, deadline);
        }
        Wakeup::Granted => return 0,
        Wakeup::TimedOut if deadline == Deadline::Now => libc::EAGAIN,
        Wakeup::TimedOut => libc::ETIMEDOUT,
        Wakeup::Interrupted => {
            signals::deliver(inside);
            libc::EINTR
        }
        Wakeup::Cancelled => {
            inside.call_back(threads::cancel_point);
            libc::EINTR
        }
    };
    super::system::set_errno(errno);
    -1
}

interpose! {
    fn sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint; pc) -> c_int {
        let status = real!(sem_init: unsafe extern "C-unwind" fn(*mut sem_t, c_int, c_uint) -> c_int)(semaphore, shared, value);
        if status == 0 && let Some(mut inside) = enter() {
            if shared == 0 {
                inside.create(pc, semaphore as u64, ObjectKind::Semaphore, value);
            } else {
                // One of ours may have been there before.
                inside.objects().semaphores.remove(&(semaphore as u64));
            }
        }
        status
    }

    fn sem_destroy(semaphore: *mut sem_t; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(&inside, semaphore) => inside.destroy(pc, semaphore as u64, ObjectKind::Semaphore).map_or(-1, |()| 0),
            _ => real!(sem_destroy: SemCall)(semaphore),
        }
    }

    fn sem_post(semaphore: *mut sem_t; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(&inside, semaphore) => { inside.semaphore_post(pc, semaphore as u64); 0 }
            Some(mut inside) => {
                inside.send(pc, semaphore as u64, 1);
                real!(sem_post: SemCall)(semaphore)
            }
            None => real!(sem_post: SemCall)(semaphore),
        }
    }

    fn sem_wait(semaphore: *mut sem_t; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(&inside, semaphore) => take(&mut inside, pc, semaphore, Deadline::Never),
            Some(mut inside) => {
                let status = super::super::system::blocking(&mut inside, pc, 0, || real!(sem_wait: SemCall)(semaphore));
                inside.receive(pc, semaphore as u64, None);
                status
            }
            None => real!(sem_wait: SemCall)(semaphore),
        }
    }

    fn sem_trywait(semaphore: *mut sem_t; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(&inside, semaphore) => take(&mut inside, pc, semaphore, Deadline::Now),
            _ => real!(sem_trywait: SemCall)(semaphore),
        }
    }

    fn sem_timedwait(semaphore: *mut sem_t, until: *const timespec; pc) -> c_int {
        type Timed = unsafe extern "C-unwind" fn(*mut sem_t, *const timespec) -> c_int;
        match enter() {
            Some(mut inside) if !beyond_us(&inside, semaphore) => take(&mut inside, pc, semaphore, time::deadline(libc::CLOCK_REALTIME, until)),
            _ => real!(sem_timedwait: Timed)(semaphore, until),
        }
    }

    fn sem_clockwait(semaphore: *mut sem_t, clock: libc::clockid_t, until: *const timespec; pc) -> c_int {
        type Timed = unsafe extern "C-unwind" fn(*mut sem_t, libc::clockid_t, *const timespec) -> c_int;
        match enter() {
            Some(mut inside) if !beyond_us(&inside, semaphore) => take(&mut inside, pc, semaphore, time::deadline(clock, until)),
            _ => real!(sem_clockwait: Timed)(semaphore, clock, until),
        }
    }

    fn sem_getvalue(semaphore: *mut sem_t, value: *mut c_int; pc) -> c_int {
        match enter() {
            Some(mut inside) if !beyond_us(&inside, semaphore) => {
                inside.sync_point();
                *value = inside.objects().semaphores.get(&(semaphore as u64)).map_or(0, |s| s.value as c_int);
                super::super::ranges::wrote(&mut inside, value.cast(), 4, pc);
                0
            }
            _ => real!(sem_getvalue: unsafe extern "C-unwind" fn(*mut sem_t, *mut c_int) -> c_int)(semaphore, value),
        }
    }
}
