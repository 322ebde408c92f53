//! The libraries of this process: where their symbols are, and which of them only pass calls of the program on.
//!
//! We export MPI's profiling names too, because Open MPI's Fortran layer calls those. So the real functions are looked
//! up behind this library, and where the program loaded MPI for itself alone (`dlopen`), in every library there is.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// Libraries that stand between the program and MPI, by how their files' names begin. What they do is told at the
/// statement that called them.
const WRAPPERS: [&str; 5] = ["libmpi_mpifh.", "libmpi_usempi", "libmpifort.", "libmpichfort.", "libcaf_"];

/// A library of this process.
struct Module {
    path: std::ffi::CString,
    lo: u64,
    hi: u64,
}

fn modules() -> Vec<Module> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, all: *mut c_void) -> i32 {
        // SAFETY: the loader's list; `all` is ours.
        let (info, all) = unsafe { (&*info, &mut *all.cast::<Vec<Module>>()) };
        let (mut lo, mut hi) = (u64::MAX, 0);
        for number in 0..usize::from(info.dlpi_phnum) {
            // SAFETY: the module has that many.
            let header = unsafe { &*info.dlpi_phdr.add(number) };
            if header.p_type == libc::PT_LOAD {
                lo = lo.min(info.dlpi_addr + header.p_vaddr);
                hi = hi.max(info.dlpi_addr + header.p_vaddr + header.p_memsz);
            }
        }
        if !info.dlpi_name.is_null() {
            // SAFETY: the loader's name.
            all.push(Module { path: unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned(), lo, hi });
        }
        0
    }
    let mut all: Vec<Module> = Vec::new();
    // SAFETY: the callback only reads the list.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut all).cast()) };
    all
}

/// A function of a library behind this one; null if there is none.
pub fn function(name: &CStr) -> *mut c_void {
    symbol(name, libc::RTLD_NEXT)
}

/// A variable; null if there is none. The program may have a copy of its own, which comes first.
pub fn variable(name: &CStr) -> *mut c_void {
    symbol(name, libc::RTLD_DEFAULT)
}

fn symbol(name: &CStr, scope: *mut c_void) -> *mut c_void {
    // SAFETY: a zero-terminated name.
    let found = unsafe { libc::dlsym(scope, name.as_ptr()) };
    if !found.is_null() {
        return found;
    }
    let own = symbol as *const () as u64;
    modules()
        .into_iter()
        .filter(|module| !(module.lo..module.hi).contains(&own) && !module.path.is_empty())
        .map(|module| {
            // SAFETY: it is loaded already, so nothing of it runs.
            unsafe {
                let handle = libc::dlopen(module.path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
                if handle.is_null() { handle } else { libc::dlsym(handle, name.as_ptr()) }
            }
        })
        // A handle's symbols include those of everything that it needs, never ours.
        .find(|found| !found.is_null())
        .unwrap_or(std::ptr::null_mut())
}

/// Code of libraries that pass calls on: where it begins and ends.
fn wrappers() -> &'static [(u64, u64)] {
    static WRAPPING: OnceLock<Vec<(u64, u64)>> = OnceLock::new();
    WRAPPING.get_or_init(|| {
        let passes_on = |module: &Module| {
            let path = module.path.to_string_lossy();
            let file = path.rsplit('/').next().unwrap_or_default();
            WRAPPERS.iter().any(|wrapper| file.starts_with(wrapper))
        };
        modules().into_iter().filter(passes_on).map(|module| (module.lo, module.hi)).collect()
    })
}

/// Does the address lie in a library that passes calls on?
pub fn passes_on(pc: u64) -> bool {
    wrappers().iter().any(|(lo, hi)| (*lo..*hi).contains(&pc))
}

/// The statement of the program behind a call from `pc`.
pub fn statement(pc: u64) -> u64 {
    if !passes_on(pc) {
        return pc;
    }
    let mut frames = [std::ptr::null_mut::<c_void>(); 48];
    // SAFETY: room for that many. The first frames are ours.
    let known = unsafe { backtrace(frames.as_mut_ptr(), frames.len() as i32) }.max(0) as usize;
    let outside = frames[..known].iter().map(|frame| *frame as u64).skip_while(|frame| *frame != pc);
    outside.skip(1).find(|frame| !passes_on(*frame)).unwrap_or(pc)
}

unsafe extern "C" {
    fn backtrace(frames: *mut *mut c_void, room: i32) -> i32;
}
