//! One-time initialisation: pthread_once, C++ static-local guards.

use super::{Token, enter};
use libc::{c_int, pthread_once_t};
use reweave_model::{Addr, AtomicKind, MemoryOrder, Op, Value};

/// glibc's value of a finished pthread_once_t.
const DONE: c_int = 2;

/// Ends the initialisation however the initialiser is left.
struct Running {
    once: u64,
    control: *mut c_int,
    pc: u64,
    done: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut inside) = enter() {
            inside.once_end(self.pc, self.once, self.done);
            if self.done {
                // Only now: whoever sees it takes the initialisation for ended, and another thread may run before
                // `once_end`. And not later: others may look at it as soon as this thread has left.
                // SAFETY: the program's own control variable.
                unsafe { *self.control = DONE };
            }
        }
    }
}

/// The program's own variable says whether it is done: the same address may be another object by now.
fn known(token: &mut Token<'_>, once: u64, done: bool) {
    let state = token.objects().onces.entry(once).or_default();
    if state.runner.is_none() {
        state.done = done;
    }
}

/// Runs `initialise` if nobody has; waits if somebody is at it.
pub fn once(pc: u64, once: u64, control: *mut c_int, initialise: extern "C-unwind" fn()) -> bool {
    let Some(mut inside) = enter() else { return false };
    // SAFETY: the program's own control variable.
    unsafe {
        known(&mut inside, once, *control == DONE);
        if inside.once_begin(pc, once) {
            drop(inside);
            let mut running = Running { once, control, pc, done: false };
            initialise();
            running.done = true;
        }
    }
    true
}

interpose! {
    fn pthread_once(control: *mut pthread_once_t, initialise: extern "C-unwind" fn(); pc) -> c_int {
        type Once = unsafe extern "C-unwind" fn(*mut pthread_once_t, extern "C-unwind" fn()) -> c_int;
        if once(pc, control as u64, control.cast(), initialise) {
            0
        } else {
            real!(pthread_once: Once)(control, initialise)
        }
    }

    /// The guard's first byte says initialised, and is read by compiled code.
    fn __cxa_guard_acquire(guard: *mut u8; pc) -> c_int {
        match enter() {
            Some(mut inside) => {
                if *guard != 0 {
                    return 0;
                }
                known(&mut inside, guard as u64, false);
                inside.once_begin(pc, guard as u64).into()
            }
            None => real!(__cxa_guard_acquire: unsafe extern "C-unwind" fn(*mut u8) -> c_int)(guard),
        }
    }

    fn __cxa_guard_release(guard: *mut u8; pc) {
        match enter() {
            Some(mut inside) => {
                // Compiled code reads it as an atomic.
                let (kind, order) = (AtomicKind::Store, MemoryOrder::Release);
                let (read, written) = (Value::Unknown, Value::Word(1));
                inside.point();
                *guard = 1;
                inside.step(pc, Op::Atomic { kind, order, addr: Addr(guard as u64), size: 1, read, written });
                inside.once_end(pc, guard as u64, true);
            }
            None => real!(__cxa_guard_release: unsafe extern "C-unwind" fn(*mut u8))(guard),
        }
    }

    fn __cxa_guard_abort(guard: *mut u8; pc) {
        match enter() {
            Some(mut inside) => inside.once_end(pc, guard as u64, false),
            None => real!(__cxa_guard_abort: unsafe extern "C-unwind" fn(*mut u8))(guard),
        }
    }
}
