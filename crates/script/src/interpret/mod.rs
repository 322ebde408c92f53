//! Runs a program under the conductor. Each of its threads is one of the system's, and each access to memory and each
//! operation on a synchronization object is a step that the scheduler is asked about. Registers are a thread's own:
//! nobody hears of them.

mod control;
mod executor;
mod memory;
mod operations;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reweave_model::ObjectKind;

use crate::language::{Program, Slot, parse};
use crate::layout::{Layout, MODULE, MODULE_SIZE, slot_size};
use control::Control;
use executor::Executor;
use memory::Memory;

/// What all threads of a program share.
struct Shared {
    program: Program,
    layout: Layout,
    memory: Mutex<Memory>,
    /// Threads by their handles, as the conductor numbers them.
    threads: Mutex<HashMap<u64, u32>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the program in a file. Returns only if it cannot be run: what to tell the user.
pub fn run(file: &Path) -> String {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return format!("{}: {error}", file.display()),
    };
    let program = match parse(&file.display().to_string(), &text) {
        Ok(program) => program,
        Err(error) => return error.to_string(),
    };
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let Some(mut control) = Control::start(path.as_os_str().as_encoded_bytes(), MODULE, MODULE_SIZE) else {
        return format!("{}: scripts run under a command: reweave test -- {0}", file.display());
    };
    let layout = Layout::new(&program);
    make_objects(&program, &layout, &mut control);
    let main = program.main().expect("a checked program has a main function");
    let memory = Mutex::new(Memory::new(&program, &layout));
    let shared = Arc::new(Shared { program, layout, memory, threads: Mutex::default() });
    let mut executor = Executor::new(shared, control, main, &[], 0);
    let status = executor.run();
    executor.exit(status)
}

/// Semaphores and barriers begin with a count.
fn make_objects(program: &Program, layout: &Layout, control: &mut Control) {
    for (global, &address) in program.globals.iter().zip(&layout.globals) {
        match global.slot {
            Slot::Object(kind) => {
                for (at, (_, slot)) in program.types[kind.index()].fields.iter().enumerate() {
                    make_object(*slot, address + layout.field(kind, at as u32), control);
                }
            }
            slot => {
                for at in 0..u64::from(global.length.unwrap_or(1)) {
                    make_object(slot, address + at * slot_size(slot), control);
                }
            }
        }
    }
}

fn make_object(slot: Slot, address: u64, control: &mut Control) {
    match slot {
        Slot::Semaphore(count) => control.create(0, address, ObjectKind::Semaphore, count),
        Slot::Barrier(count) => control.create(0, address, ObjectKind::Barrier, count),
        _ => {}
    }
}
