//! Start-up: instrumented modules register their hook tables; the first one connects the process.

use super::world::Native;
use super::{
    CONDUCTOR, Conductor, access, active, annotations, atomics, conductor, free, handed_on, modules, process, ranges,
    signals, stacks, threads, tls,
};
use reweave_conductor::Region;
use reweave_guest::connection::{Introduction, connect, wants_uninstrumented};
use reweave_guest::restart;
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
        if let Some(region) = connect(Introduction { instrumented: true, forked: false }) {
            start(region);
        }
    }
    if !active() {
        return 0;
    }
    let header = conductor().map(|conductor| conductor.region().header());
    let first: &[Hook] = match header {
        Some(header) if header.skip_repeats != 0 => access::WATCHED,
        Some(header) if header.foresee != 0 => access::FORESEEN,
        _ => &[],
    };
    let free: &[Hook] = match header {
        Some(header) if header.free != 0 && header.skip_repeats != 0 => free::WATCHED,
        Some(header) if header.free != 0 => free::HOOKS,
        _ => &[],
    };
    let lists: [&[Hook]; 7] =
        [free, first, access::HOOKS, ranges::HOOKS, atomics::HOOKS, stacks::HOOKS, annotations::HOOKS];
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
/// the launcher says so; one of another front end may have to be started again.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = {
    extern "C" fn loaded() {
        handed_on::remember();
        if restart::if_wanted() {
            return;
        }
        if wants_uninstrumented() && !TRIED.load(Ordering::Relaxed) && !modules::any_instrumented() {
            TRIED.store(true, Ordering::Relaxed);
            if let Some(region) = connect(Introduction { instrumented: false, forked: false }) {
                start(region);
                modules::changed();
            }
        }
    }
    loaded
};

/// Takes control of the process: the calling thread becomes the main thread and holds the token.
pub fn start(region: Region) {
    // It stays: threads may look at it until the process ends.
    let conductor: &'static Conductor = Box::leak(Box::new(Conductor::new(region, Native)));
    let mut token = conductor.start();
    token.me().own.inside.set(1);
    CONDUCTOR.store((&raw const *conductor).cast_mut(), Ordering::Release);
    tls::set_thread(token.pointer().as_ptr());
    threads::begin(&mut token, 0);
    signals::start();
    process::start();
    token.run_free();
    // SAFETY: the row of this very thread, of which a word is touched.
    unsafe { token.pointer().as_ref() }.own.inside.set(0);
}
