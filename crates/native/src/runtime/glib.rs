//! GLib's mutexes and condition variables: its own are futexes inside an uninstrumented library, so mutual exclusion
//! would be there but nobody would see it.

use super::{enter, locks, sync};
use libc::{c_int, c_void};
use reweave_conductor::Deadline;
use reweave_model::{LockMode, ObjectKind};

type Call = unsafe extern "C-unwind" fn(*mut c_void);
type Try = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// GLib's clock is monotonic microseconds.
fn until(microseconds: i64) -> Deadline {
    let time = libc::timespec { tv_sec: microseconds / 1_000_000, tv_nsec: microseconds % 1_000_000 * 1000 };
    super::time::deadline(libc::CLOCK_MONOTONIC, &raw const time)
}

macro_rules! locks {
    ($($lock:ident $try:ident $unlock:ident $clear:ident $kind:expr;)*) => {
        interpose! {
            $(
                fn $lock(mutex: *mut c_void; pc) {
                    match enter() {
                        Some(mut inside) => { locks::lock(&mut inside, pc, mutex as u64, $kind, Deadline::Never); }
                        None => real!($lock: Call)(mutex),
                    }
                }

                fn $try(mutex: *mut c_void; pc) -> c_int {
                    match enter() {
                        Some(mut inside) => (locks::lock(&mut inside, pc, mutex as u64, $kind, Deadline::Now) == 0).into(),
                        None => real!($try: Try)(mutex),
                    }
                }

                fn $unlock(mutex: *mut c_void; pc) {
                    match enter() {
                        Some(mut inside) => { locks::unlock(&mut inside, pc, mutex as u64, false); }
                        None => real!($unlock: Call)(mutex),
                    }
                }

                fn $clear(mutex: *mut c_void; pc) {
                    if let Some(mut inside) = enter() {
                        let _ = inside.destroy(pc, mutex as u64, ObjectKind::Mutex);
                    }
                    real!($clear: Call)(mutex)
                }
            )*
        }
    };
}

locks! {
    g_mutex_lock g_mutex_trylock g_mutex_unlock g_mutex_clear 0;
    g_rec_mutex_lock g_rec_mutex_trylock g_rec_mutex_unlock g_rec_mutex_clear libc::PTHREAD_MUTEX_RECURSIVE;
    g_rw_lock_writer_lock g_rw_lock_writer_trylock g_rw_lock_writer_unlock g_rw_lock_clear 0;
}

interpose! {
    fn g_rw_lock_reader_lock(lock: *mut c_void; pc) {
        match enter() {
            Some(mut inside) => {
                let _ = inside.acquire(pc, lock as u64, LockMode::Shared, Deadline::Never);
            }
            None => real!(g_rw_lock_reader_lock: Call)(lock),
        }
    }

    fn g_rw_lock_reader_unlock(lock: *mut c_void; pc) {
        match enter() {
            Some(mut inside) => { locks::unlock(&mut inside, pc, lock as u64, false); }
            None => real!(g_rw_lock_reader_unlock: Call)(lock),
        }
    }

    fn g_cond_wait(condition: *mut c_void, mutex: *mut c_void; pc) {
        type Wait = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);
        match enter() {
            Some(mut inside) => { sync::wait(&mut inside, pc, condition as u64, mutex as u64, Deadline::Never); }
            None => real!(g_cond_wait: Wait)(condition, mutex),
        }
    }

    fn g_cond_wait_until(condition: *mut c_void, mutex: *mut c_void, end: i64; pc) -> c_int {
        type Wait = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, i64) -> c_int;
        match enter() {
            Some(mut inside) => (sync::wait(&mut inside, pc, condition as u64, mutex as u64, until(end)) == 0).into(),
            None => real!(g_cond_wait_until: Wait)(condition, mutex, end),
        }
    }

    fn g_cond_signal(condition: *mut c_void; pc) {
        match enter() {
            Some(mut inside) => inside.notify(pc, condition as u64, false),
            None => real!(g_cond_signal: Call)(condition),
        }
    }

    fn g_cond_broadcast(condition: *mut c_void; pc) {
        match enter() {
            Some(mut inside) => inside.notify(pc, condition as u64, true),
            None => real!(g_cond_broadcast: Call)(condition),
        }
    }
}
