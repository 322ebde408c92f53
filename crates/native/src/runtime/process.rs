//! The life of the process: exit, fork, exec.

use super::{CONDUCTOR, active, conductor, connect, enter, modules, register, stacks, tls};
use libc::{c_char, c_int, c_void, pid_t};
use reweave_conductor::{NO_THREAD, Thread, World};
use reweave_model::Op;
use std::sync::atomic::Ordering;

/// What the conductor needs of the system.
pub struct Native;

impl World for Native {
    fn poll(&self, waiters: &mut [&mut Thread], timeout: u64) {
        super::descriptors::poll_waiters(waiters, timeout);
    }

    fn may_be_woken(&self) -> bool {
        false
    }
}

pub fn start() {
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    // SAFETY: registered first, so it runs after the program's own handlers.
    unsafe { on_exit(exiting, std::ptr::null_mut()) };
}

extern "C" fn exiting(status: c_int, _: *mut c_void) {
    if let Some(inside) = enter() {
        conductor().recorder.event(inside.thread, 0, Op::Exit { status });
    }
}

/// The child of a fork is a process of its own: it has one thread and gets its own trace.
fn in_child(inside: super::Inside) {
    let owner = inside.thread.id;
    let (nth, objects) = (inside.thread.inside, std::mem::take(&mut conductor().objects));
    let user = inside.thread.user;
    std::mem::forget(inside);
    CONDUCTOR.store(std::ptr::null_mut(), Ordering::Release);
    tls::set_thread(std::ptr::null_mut());
    let Some(region) = connect::connect(register::instrumented(), true) else { return };
    stacks::forget();
    modules::forget();
    register::start(region);
    let conductor = conductor();
    conductor.objects = objects;
    for lock in conductor.objects.locks.values_mut() {
        if lock.owner == owner {
            lock.owner = 0;
        } else if lock.owner != NO_THREAD {
            // Held by a thread that does not exist here: nobody will ever release it.
            lock.owner = NO_THREAD - 1;
        }
    }
    let _ = (nth, user);
    modules::changed();
}

interpose! {
    fn fork(; pc) -> pid_t {
        let fork = real!(fork: unsafe extern "C-unwind" fn() -> pid_t);
        let Some(inside) = enter() else { return fork() };
        conductor().sync_point(inside.thread);
        let child = fork();
        if child == 0 {
            in_child(inside);
        } else {
            conductor().step(inside.thread, pc, Op::Input { source: reweave_model::InputSource::Other, value: child.into(), bytes: &[] });
        }
        child
    }

    /// A vfork child shares our memory, and with it the state of the runtime; a fork is always allowed instead.
    fn vfork(; pc) -> pid_t {
        super::fork::body(pc)
    }

    fn _exit(status: c_int; pc) {
        if let Some(inside) = enter() {
            conductor().recorder.event(inside.thread, pc, Op::Exit { status });
        }
        real!(_exit: unsafe extern "C-unwind" fn(c_int))(status)
    }

    fn _Exit(status: c_int; pc) {
        super::_exit::body(status, pc)
    }

    fn execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char; pc) -> c_int {
        type Exec = unsafe extern "C-unwind" fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;
        if active() {
            let _ = enter();
        }
        real!(execve: Exec)(path, arguments, environment)
    }
}
