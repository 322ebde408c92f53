//! Calls about signals: what the program wants done with them, sending, blocking, and waiting for them.

use super::signals::{FATAL, SIGNALS, arrived, await_arrival, deliver, real_action, set_mask, set_wanted, wanted};
use super::{Inside, Token, active, enter, system, threads, timers};
use libc::{c_int, pthread_t, sigaction as Action, siginfo_t, sigset_t, timespec};
use reweave_conductor::Wakeup;
use reweave_conductor::interrupts::interrupt_channel;
use std::mem::zeroed;

/// Waits until a handler has run; `let_in` as for [`Token::await_interrupt`].
fn await_signal(inside: &mut Inside, pc: u64, let_in: impl FnOnce()) {
    match inside.await_interrupt(pc, let_in) {
        Wakeup::Cancelled => inside.call_back(threads::cancel_point),
        _ => deliver(inside),
    }
    system::set_errno(libc::EINTR);
}

type Mask = unsafe extern "C-unwind" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

/// A timer that nobody took a signal from may find a taker; the handler runs before the call returns.
fn unblocked(token: &mut Token<'_>) {
    if token.timers().any_pending() {
        token.fire_timers(token.now());
    }
}

/// What is waited for like this comes from the kernel.
fn awaited(token: &mut Token<'_>, set: *const sigset_t) {
    // SAFETY: the kernel's part of the program's own set is its first word.
    if let Some(set) = unsafe { set.cast::<u64>().as_ref() } {
        timers::make_real(token, *set);
    }
}

interpose! {
    fn sigaction(number: c_int, new: *const Action, old: *mut Action; pc) -> c_int {
        if !active() || !(1..SIGNALS as c_int).contains(&number) {
            return real_action(number, new, old);
        }
        // A signal that the schedule has for this place may come when it is left.
        let mut inside = enter();
        let before = wanted(number);
        if let Some(new) = new.as_ref() {
            let mut kernel = *new;
            let handler = new.sa_sigaction != libc::SIG_DFL && new.sa_sigaction != libc::SIG_IGN;
            if handler || (FATAL.contains(&number) && new.sa_sigaction == libc::SIG_DFL) {
                kernel.sa_sigaction = arrived as *const () as usize;
                kernel.sa_flags = (new.sa_flags | libc::SA_SIGINFO) & !libc::SA_RESETHAND;
            }
            set_wanted(number, Some(*new));
            let status = real_action(number, &raw const kernel, old);
            if status != 0 {
                set_wanted(number, before);
                return status;
            }
            if let Some(inside) = &mut inside {
                timers::action_changed(inside, number);
            }
        } else if real_action(number, std::ptr::null(), old) != 0 {
            return -1;
        }
        if let (Some(before), Some(old)) = (before, old.as_mut()) {
            *old = before;
        }
        0
    }

    fn signal(number: c_int, handler: usize; pc) -> usize {
        if !active() {
            return real!(signal: unsafe extern "C-unwind" fn(c_int, usize) -> usize)(number, handler);
        }
        let (mut new, mut old): (Action, Action) = (zeroed(), zeroed());
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        if sigaction::body(number, &raw const new, &raw mut old, pc) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
    }

    fn raise(number: c_int; pc) -> c_int {
        let raise = real!(raise: unsafe extern "C-unwind" fn(c_int) -> c_int);
        match enter() {
            Some(mut inside) => {
                inside.send(pc, interrupt_channel(number as u32), 1);
                // It arrives inside the call and is delivered on the way out.
                raise(number)
            }
            None => raise(number),
        }
    }

    fn pthread_kill(handle: pthread_t, number: c_int; pc) -> c_int {
        let kill = real!(pthread_kill: unsafe extern "C-unwind" fn(pthread_t, c_int) -> c_int);
        match enter() {
            Some(mut inside) => {
                inside.send(pc, interrupt_channel(number as u32), 1);
                let target = threads::by_handle(&mut inside, handle);
                let status = kill(handle, number);
                if status == 0 && let Some(target) = target && target != inside.id() {
                    await_arrival(&inside, target, number);
                }
                status
            }
            None => kill(handle, number),
        }
    }

    fn kill(process: libc::pid_t, number: c_int; pc) -> c_int {
        let kill = real!(kill: unsafe extern "C-unwind" fn(libc::pid_t, c_int) -> c_int);
        if let Some(mut inside) = enter() {
            inside.send(pc, interrupt_channel(number as u32), 1);
        }
        kill(process, number)
    }

    fn sigwait(set: *const sigset_t, number: *mut c_int; pc) -> c_int {
        let wait = real!(sigwait: unsafe extern "C-unwind" fn(*const sigset_t, *mut c_int) -> c_int);
        match enter() {
            Some(mut inside) => {
                awaited(&mut inside, set);
                let status = system::blocking(&mut inside, pc, libc::SYS_rt_sigtimedwait as u32, || wait(set, number));
                if status == 0 {
                    inside.receive(pc, interrupt_channel(*number as u32), None);
                    super::super::ranges::wrote(&mut inside, number.cast(), 4, pc);
                }
                status
            }
            None => wait(set, number),
        }
    }

    fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t; pc) -> c_int {
        let wait = real!(sigwaitinfo: unsafe extern "C-unwind" fn(*const sigset_t, *mut siginfo_t) -> c_int);
        match enter() {
            Some(mut inside) => {
                awaited(&mut inside, set);
                let number = system::blocking(&mut inside, pc, libc::SYS_rt_sigtimedwait as u32, || wait(set, info));
                if number > 0 {
                    inside.receive(pc, interrupt_channel(number as u32), None);
                }
                number
            }
            None => wait(set, info),
        }
    }

    fn sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, span: *const timespec; pc) -> c_int {
        let wait = real!(sigtimedwait: unsafe extern "C-unwind" fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int);
        match enter() {
            Some(mut inside) => {
                awaited(&mut inside, set);
                let number = system::blocking(&mut inside, pc, libc::SYS_rt_sigtimedwait as u32, || wait(set, info, span));
                if number > 0 {
                    inside.receive(pc, interrupt_channel(number as u32), None);
                }
                number
            }
            None => wait(set, info, span),
        }
    }

    fn pause(; pc) -> c_int {
        let pause = real!(pause: unsafe extern "C-unwind" fn() -> c_int);
        match enter() {
            Some(mut inside) => {
                await_signal(&mut inside, pc, || ());
                -1
            }
            None => pause(),
        }
    }

    fn sigsuspend(set: *const sigset_t; pc) -> c_int {
        let suspend = real!(sigsuspend: unsafe extern "C-unwind" fn(*const sigset_t) -> c_int);
        match enter() {
            Some(mut inside) if !set.is_null() => {
                let (wanted, mut before) = (set.cast::<u64>().read(), 0);
                await_signal(&mut inside, pc, || before = set_mask(wanted));
                set_mask(before);
                -1
            }
            _ => suspend(set),
        }
    }
    fn pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut sigset_t; pc) -> c_int {
        let mask = real!(pthread_sigmask: Mask);
        let Some(mut inside) = enter() else { return mask(how, new, old) };
        let status = mask(how, new, old);
        unblocked(&mut inside);
        status
    }

    fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t; pc) -> c_int {
        let mask = real!(sigprocmask: Mask);
        let Some(mut inside) = enter() else { return mask(how, new, old) };
        let status = mask(how, new, old);
        unblocked(&mut inside);
        status
    }
}
