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
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

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
        _ => &[],
    };
    let free: &[Hook] = match header {
        Some(header) if header.free != 0 && header.skip_repeats != 0 => free::WATCHED,
        Some(header) if header.free != 0 => free::HOOKS,
        _ => &[],
    };
    let lists: [&[Hook]; 7] =
        [free, first, access::HOOKS, ranges::HOOKS, atomics::HOOKS, stacks::HOOKS, annotations::HOOKS];
    let of_name = |lists: &[&[Hook]], name: &[u8]| {
        let mut all = lists.iter().flat_map(|list| list.iter());
        all.find(|(known, _)| known.as_bytes() == name).map(|(_, function)| *function)
    };
    let mut replaced = Vec::new();
    for i in 0..count {
        // SAFETY: by the contract with the stubs.
        let (slot, name) = unsafe { (table.add(i), CStr::from_ptr(*names.add(i)).to_bytes()) };
        let Some(plain) = of_name(&lists, name) else { continue };
        // SAFETY: the module's own table.
        unsafe { *slot = plain };
        if let Some(foreseeing) = of_name(&[access::FORESEEN], name) {
            replaced.push((slot.cast(), plain, foreseeing));
        }
    }
    if header.is_some_and(|header| header.foresee != 0) {
        Replaced::add(table, replaced);
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
pub unsafe extern "C" fn __reweave_unregister(table: *mut *const ()) {
    Replaced::all()
        .filter(|known| known.table == table.cast())
        .for_each(|known| known.gone.store(true, Ordering::Release));
}

/// The entries of a module's table that change when accesses are foreseen, or no longer. Never freed: a hook may be
/// going through them.
struct Replaced {
    table: *mut (),
    /// Each with the plain hook and the other one.
    entries: Vec<(*mut AtomicPtr<()>, *const (), *const ())>,
    /// The module was unloaded.
    gone: AtomicBool,
    next: *const Replaced,
}

/// The last one.
static REPLACED: AtomicPtr<Replaced> = AtomicPtr::new(null_mut());
static FORESEEING: AtomicBool = AtomicBool::new(false);

impl Replaced {
    fn all() -> impl Iterator<Item = &'static Self> {
        // SAFETY: null, or made by `add`, and there for ever.
        let get = |at: *const Self| unsafe { at.as_ref() };
        std::iter::successors(get(REPLACED.load(Ordering::Acquire)), move |known| get(known.next))
    }

    fn add(table: *mut *const (), entries: Vec<(*mut AtomicPtr<()>, *const (), *const ())>) {
        let gone = AtomicBool::new(false);
        let known = Box::leak(Box::new(Self { table: table.cast(), entries, gone, next: std::ptr::null() }));
        let mut last = REPLACED.load(Ordering::Acquire);
        loop {
            known.next = last;
            match REPLACED.compare_exchange(last, &raw mut *known, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(other) => last = other,
            }
        }
        known.set(FORESEEING.load(Ordering::Acquire));
    }

    fn set(&self, foreseeing: bool) {
        if self.gone.load(Ordering::Acquire) {
            return;
        }
        for &(entry, plain, other) in &self.entries {
            // SAFETY: in the table of a module that is loaded; an entry is a word, which other threads may be reading.
            unsafe { (*entry).store(if foreseeing { other } else { plain }.cast_mut(), Ordering::Release) };
        }
    }
}

/// Which of two hooks accesses go through from now on.
#[cold]
pub fn foresee(on: bool) {
    FORESEEING.store(on, Ordering::Release);
    Replaced::all().for_each(|known| known.set(on));
}

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
