//! Threads inside ranks: strands, and what orders and excludes them.
//!
//! A strand is a thread, a task, or a section of a parallel region: two sections that one thread happens to run are
//! parallel all the same. Threads that the library of ranks starts for itself have no strand, and nothing of them is
//! logged. Mutexes keep strands apart; in which order they were taken orders nothing.

mod openmp;
mod posix;
pub mod sections;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::start::quietly;
use super::{INSIDE, LISTENING, with};
use crate::event::Event;
use crate::ids::Object;

thread_local! {
    static STRAND: Cell<Option<u32>> = const { Cell::new(None) };
    /// Of a task or section: the stack below this address is its own.
    static FLOOR: Cell<u64> = const { Cell::new(0) };
}

static STRANDS: AtomicU32 = AtomicU32::new(1);
static OBJECTS: AtomicU64 = AtomicU64::new(1);

/// The thread that starts the library of ranks is the first strand.
pub fn first() {
    let _ = STRAND.try_with(|strand| strand.set(Some(0)));
}

/// The strand of a call or an access. A thread that nobody saw begin gets one that nothing orders.
pub fn strand() -> u32 {
    STRAND
        .try_with(|strand| match strand.get() {
            Some(number) => number,
            None => {
                let number = fresh();
                strand.set(Some(number));
                number
            }
        })
        .unwrap_or(0)
}

/// Are there others than the first?
pub fn several() -> bool {
    STRANDS.load(Ordering::Relaxed) > 1
}

/// Does the address lie in the part of the stack that this task or section has for itself? Others that run on the same
/// thread use the same addresses.
pub fn is_own(address: u64) -> bool {
    let here = &raw const address as u64;
    let floor = FLOOR.try_with(Cell::get).unwrap_or(0);
    here < floor && here <= address && address < floor
}

/// A task or section begins or ends on this thread; returns what was before.
fn set_floor(floor: u64) -> u64 {
    FLOOR.try_with(|cell| cell.replace(floor)).unwrap_or(0)
}

/// Does this thread belong to the program, as far as is known?
pub fn known() -> bool {
    STRAND.try_with(|strand| strand.get().is_some()).unwrap_or(false)
}

fn fresh() -> u32 {
    STRANDS.fetch_add(1, Ordering::Relaxed)
}

/// Something that orders strands and has no address. Addresses of objects in memory are never that small.
fn object() -> Object {
    Object(OBJECTS.fetch_add(1, Ordering::Relaxed))
}

/// Goes on as another strand; returns which one it was.
fn become_strand(number: Option<u32>) -> Option<u32> {
    STRAND.try_with(|strand| strand.replace(number)).unwrap_or(None)
}

/// Is this a thread of the program, outside of calls of its library?
fn listening() -> bool {
    LISTENING.load(Ordering::Acquire) && !INSIDE.try_with(Cell::get).unwrap_or(true) && known()
}

/// Logs an event of this thread. Quietly, as everything that takes a lock of ours: allocating may take locks of the
/// library (UCX replaces `mmap`), and we see those.
fn log(event: Event) {
    quietly(|| with(|state| state.log(0, event)));
}

fn release(object: Object) {
    log(Event::Release { object });
}

fn acquire(object: Object) {
    log(Event::Acquire { object });
}

/// How often somebody gave something to an atomic variable, and how much of it a strand has taken.
#[derive(Default)]
struct Handed {
    given: HashMap<u64, u64>,
    taken: HashMap<(u32, u64), u64>,
}

static HANDED: Mutex<Option<Handed>> = Mutex::new(None);

fn handed<T>(body: impl FnOnce(&mut Handed) -> T) -> T {
    body(HANDED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert_default())
}

/// An atomic variable is written by an operation that orders.
pub fn give(address: u64) {
    if several() && listening() {
        quietly(|| handed(|handed| *handed.given.entry(address).or_default() += 1));
        release(Object(address));
    }
}

/// An atomic variable was read by an operation that orders. A loop that polls says nothing new.
pub fn take(address: u64) {
    if several() && listening() {
        let own = strand();
        let is_news = |handed: &mut Handed| {
            let given = handed.given.get(&address).copied().unwrap_or(0);
            given != 0 && handed.taken.insert((own, address), given) != Some(given)
        };
        if quietly(|| handed(is_news)) {
            acquire(Object(address));
        }
    }
}

/// The next definition of a function that we replace.
macro_rules! next {
    ($name:expr, $type:ty) => {{
        static CELL: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        let mut found = CELL.load(std::sync::atomic::Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: a zero-terminated name.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, $name.as_ptr()) };
            CELL.store(found, std::sync::atomic::Ordering::Relaxed);
        }
        if found.is_null() {
            $crate::runtime::missing($name.to_str().unwrap_or_default());
        }
        // SAFETY: the caller states the function's type.
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, $type>(found) }
    }};
}
use next;

/// Replaces functions: `before` is logged before the real one runs, `after` when it came back with success.
macro_rules! ordering {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty
       { before: $before:expr, after |$value:ident|: $after:expr })*) => {$(
        /// # Safety
        /// As the library has it.
        #[unsafe(no_mangle)]
        #[allow(clippy::no_effect, reason = "some have nothing to do before or after")]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $result {
            const NAME: &std::ffi::CStr =
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
            let real = next!(NAME, unsafe extern "C" fn($($type),*) -> $result);
            if !listening() {
                // SAFETY: the program's own call.
                return unsafe { real($($arg),*) };
            }
            super::quietly(|| $before);
            // SAFETY: the program's own call.
            let $value = unsafe { real($($arg),*) };
            super::quietly(|| $after);
            $value
        }
    )*};
}
use ordering;
