//! The library that is loaded into every rank: it sees the calls and logs what they mean.
//!
//! One file for Open MPI, MPICH and OpenSHMEM. Real functions come from their profiling names
//! (`PMPI_x`, `pshmem_x`), each looked up when it is first needed. Nothing is done before the program
//! calls `MPI_Init` or `shmem_init`, so launchers that inherit the preloaded library are left alone.
//!
//! Invariant: no lock of ours is held while a function of the library runs that may wait.
//! Invariant: an entry is logged before what it allows others to do, and after what it waited for.

#[macro_use]
mod real;
mod abi;
mod again;
mod atomics;
mod collectives;
mod datatypes;
mod gather;
mod local;
mod log;
mod memory;
mod messages;
mod modules;
mod neighbours;
mod objects;
mod online;
mod operations;
mod quick;
mod recent;
mod sample;
mod shmem;
mod start;
mod steer;
mod strings;
mod threads;
mod unknown;
mod windows;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::event::Event;
use objects::State;

static LISTENING: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    /// Inside a call of the program: what the library calls meanwhile is its own business.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// What is known about this rank. Poisoned or missing: whoever asks does nothing.
struct Guard(MutexGuard<'static, Option<State>>);

fn state() -> Guard {
    Guard(STATE.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Runs `body` on what is known about this rank.
fn with<T>(body: impl FnOnce(&mut State) -> T) -> Option<T> {
    state().0.as_mut().map(body)
}

/// A call of the program that is being looked at.
pub struct Call {
    pc: u64,
}

impl Call {
    pub fn enter(pc: u64) -> Option<Call> {
        if !LISTENING.load(Ordering::Acquire) {
            return None;
        }
        let outer = INSIDE.try_with(|inside| !inside.replace(true)).unwrap_or(false);
        outer.then(|| Call { pc: modules::statement(pc) })
    }

    pub fn log(&self, event: Event) {
        with(|state| state.log(self.pc, event));
    }

    /// Runs `body` on what is known about this rank, and this statement's address.
    fn with<T>(&self, body: impl FnOnce(&mut State, u64) -> T) -> Option<T> {
        with(|state| body(state, self.pc))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|inside| inside.set(false));
    }
}

/// Such a call, and the library's own function.
pub struct Replaced<F> {
    pub real: F,
    call: Call,
}

impl<F> Replaced<F> {
    pub fn enter(pc: u64, real: F) -> Option<Replaced<F>> {
        Call::enter(pc).map(|call| Replaced { real, call })
    }
}

impl<F> std::ops::Deref for Replaced<F> {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.call
    }
}

/// The program called a function that its library does not have.
fn missing(name: &str) -> ! {
    eprintln!("reweave: {name} was called, but the library has no such function");
    std::process::abort()
}
