//! Start-up: instrumented modules register their hook tables; the first one connects the process.

use super::{
    CONDUCTOR, access, active, annotations, atomics, connect, memory, modules, process, ranges, signals, stacks,
    threads, tls,
};
use reweave_conductor::{Conductor, Region};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};

/// A hook by its symbol name.
pub type Hook = (&'static str, *const ());

static TRIED: AtomicBool = AtomicBool::new(false);
static INSTRUMENTED: AtomicBool = AtomicBool::new(false);

pub fn instrumented() -> bool {
    INSTRUMENTED.load(Ordering::Relaxed)
}

/// Called by the constructor in every module built with `reweave cc`.
///
/// # Safety
/// `table` and `names` have `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __reweave_register(
    table: *mut *const (),
    names: *const *const c_char,
    count: usize,
    module: *const (),
) -> i32 {
    if !TRIED.swap(true, Ordering::AcqRel) {
        INSTRUMENTED.store(true, Ordering::Relaxed);
        if let Some(region) = connect::connect(true, false) {
            start(region);
        }
    }
    if !active() {
        return 0;
    }
    let lists: [&[Hook]; 5] = [access::HOOKS, ranges::HOOKS, atomics::HOOKS, stacks::HOOKS, annotations::HOOKS];
    for i in 0..count {
        // SAFETY: by the contract with the stubs.
        let (slot, name) = unsafe { (table.add(i), CStr::from_ptr(*names.add(i)).to_bytes()) };
        let hook = lists.iter().flat_map(|list| list.iter()).find(|(known, _)| known.as_bytes() == name);
        if let Some((_, function)) = hook {
            // SAFETY: the module's own table.
            unsafe { *slot = *function };
        }
    }
    modules::changed();
    modules::registered(module as u64);
    // A signal in the middle of a hook is put off, as one in compiled code is.
    modules::registered(__reweave_register as *const () as u64);
    1
}

/// # Safety
/// Called by the destructor of a module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __reweave_unregister(_table: *mut *const ()) {}

/// Runs when the library is loaded: a program that was not built with `reweave cc` is recorded at the level of locks if
/// the launcher says so.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = {
    extern "C" fn loaded() {
        if connect::wanted_plain() && !TRIED.load(Ordering::Relaxed) && !modules::any_instrumented() {
            TRIED.store(true, Ordering::Relaxed);
            if let Some(region) = connect::connect(false, false) {
                start(region);
                modules::changed();
            }
        }
    }
    loaded
};

/// Takes control of the process: the calling thread becomes the main thread and holds the token.
pub fn start(region: Region) {
    let mut conductor = Box::new(Conductor::new(region, Box::new(process::Native)));
    let main = conductor.register(None);
    main.scheduled_as = 0;
    main.inside = 1;
    conductor.start(main);
    CONDUCTOR.store(Box::into_raw(conductor), Ordering::Release);
    tls::set_thread(main);
    threads::begin(main, 0);
    memory::start();
    signals::start();
    process::start();
    main.inside = 0;
}
