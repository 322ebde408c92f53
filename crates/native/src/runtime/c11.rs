//! C11 threads. glibc's own versions call internals directly, so each is interposed; its objects have the layout of the
//! pthread ones, and so these are the pthread functions with other results.
//!
//! `thrd_exit`, `thrd_current`, `thrd_equal` and `tss_*` need nothing: they end up where pthreads do.

use super::{Inside, enter, locks, once, ranges, sync, threads, time};
use libc::{c_int, c_void, pthread_cond_t, pthread_mutex_t, pthread_once_t, pthread_t, timespec};
use reweave_conductor::Deadline;
use reweave_model::ObjectKind;

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const OUT_OF_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

/// An errno as C11 has it.
fn result(errno: c_int) -> c_int {
    match errno {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM => OUT_OF_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
type PthreadStart = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

unsafe fn create(inside: &mut Inside, pc: u64, handle: *mut pthread_t, start: Start, argument: *mut c_void) -> c_int {
    // SAFETY: an int comes back in the lower half of the register of a pointer; `thrd_join` looks at nothing else. A
    // trampoline would have to stand for the program's function in the trace.
    unsafe {
        let start = std::mem::transmute::<Start, PthreadStart>(start);
        threads::create(inside, pc, handle, std::ptr::null(), start, argument)
    }
}

interpose! {
    fn thrd_create(handle: *mut pthread_t, start: Start, argument: *mut c_void; pc) -> c_int {
        match enter() {
            Some(mut inside) => result(create(&mut inside, pc, handle, start, argument)),
            None => real!(thrd_create: unsafe extern "C-unwind" fn(*mut pthread_t, Start, *mut c_void) -> c_int)(handle, start, argument),
        }
    }

    fn thrd_join(handle: pthread_t, out: *mut c_int; pc) -> c_int {
        type Join = unsafe extern "C-unwind" fn(pthread_t, *mut *mut c_void) -> c_int;
        let Some(mut inside) = enter() else {
            return real!(thrd_join: unsafe extern "C-unwind" fn(pthread_t, *mut c_int) -> c_int)(handle, out);
        };
        let refused = threads::join(&mut inside, pc, handle, Deadline::Never, 0);
        if refused != 0 {
            return result(refused);
        }
        let mut value = std::ptr::null_mut();
        let status = real!(pthread_join: Join)(handle, &mut value);
        if status == 0 && !out.is_null() {
            *out = value as usize as c_int;
            ranges::wrote(&mut inside, out.cast(), size_of::<c_int>(), pc);
        }
        result(status)
    }

    fn thrd_detach(handle: pthread_t; pc) -> c_int {
        result(threads::pthread_detach::body(handle, pc))
    }

    fn thrd_yield(; pc) {
        threads::sched_yield::body(pc);
    }

    fn thrd_sleep(span: *const timespec, left: *mut timespec; pc) -> c_int {
        match time::clock_nanosleep::body(libc::CLOCK_REALTIME, 0, span, left, pc) {
            0 => 0,
            libc::EINTR => -1,
            _ => -2,
        }
    }

    fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int; pc) -> c_int {
        // libc writes the type into the mutex.
        let status = real!(mtx_init: unsafe extern "C-unwind" fn(*mut pthread_mutex_t, c_int) -> c_int)(mutex, kind);
        if status == SUCCESS && let Some(mut inside) = enter() {
            inside.create(pc, mutex as u64, ObjectKind::Mutex, kind as u32 & 1);
        }
        status
    }

    fn mtx_destroy(mutex: *mut pthread_mutex_t; pc) {
        locks::pthread_mutex_destroy::body(mutex, pc);
    }

    fn mtx_lock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        result(locks::pthread_mutex_lock::body(mutex, pc))
    }

    fn mtx_trylock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        result(locks::pthread_mutex_trylock::body(mutex, pc))
    }

    /// The time is of TIME_UTC, as with pthreads.
    fn mtx_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec; pc) -> c_int {
        result(locks::pthread_mutex_timedlock::body(mutex, until, pc))
    }

    fn mtx_unlock(mutex: *mut pthread_mutex_t; pc) -> c_int {
        result(locks::pthread_mutex_unlock::body(mutex, pc))
    }

    fn cnd_init(condition: *mut pthread_cond_t; pc) -> c_int {
        result(sync::pthread_cond_init::body(condition, std::ptr::null(), pc))
    }

    fn cnd_destroy(condition: *mut pthread_cond_t; pc) {
        sync::pthread_cond_destroy::body(condition, pc);
    }

    fn cnd_signal(condition: *mut pthread_cond_t; pc) -> c_int {
        result(sync::pthread_cond_signal::body(condition, pc))
    }

    fn cnd_broadcast(condition: *mut pthread_cond_t; pc) -> c_int {
        result(sync::pthread_cond_broadcast::body(condition, pc))
    }

    fn cnd_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t; pc) -> c_int {
        result(sync::pthread_cond_wait::body(condition, mutex, pc))
    }

    fn cnd_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec; pc) -> c_int {
        result(sync::pthread_cond_timedwait::body(condition, mutex, until, pc))
    }

    fn call_once(flag: *mut pthread_once_t, initialise: extern "C-unwind" fn(); pc) {
        once::pthread_once::body(flag, initialise, pc);
    }
}
