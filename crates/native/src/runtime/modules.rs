//! Which code is mapped where, so that code positions can be named.

use super::{Inside, Token, active, enter};
use libc::{c_char, c_int, c_void, dl_phdr_info, size_t};
use reweave_conductor::objects::AddressMap;
use reweave_guest::Guarded;
use std::sync::atomic::{AtomicU64, Ordering};

/// Modules already recorded, by base address.
// SAFETY: for the holder of the token of the one conductor.
static KNOWN: Guarded<Option<AddressMap<u64>>> = unsafe { Guarded::new(None) };

/// Where code lies. Looked at by signal handlers and new threads at any time, hence the atomics; changed by the holder
/// of the token.
struct CodeRange {
    start: AtomicU64,
    end: AtomicU64,
}

impl CodeRange {
    const fn nowhere() -> Self {
        Self { start: AtomicU64::new(0), end: AtomicU64::new(0) }
    }

    fn contains(&self, pc: u64) -> bool {
        // One that is just being changed contains nothing: its end is 0 meanwhile.
        let end = self.end.load(Ordering::Acquire);
        pc < end && pc >= self.start.load(Ordering::Acquire)
    }

    fn set(&self, start: u64, end: u64) {
        self.end.store(0, Ordering::Release);
        self.start.store(start, Ordering::Release);
        self.end.store(end, Ordering::Release);
    }

    fn is_free(&self) -> bool {
        self.end.load(Ordering::Relaxed) == 0
    }
}

/// The code of the OpenMP library.
static OPENMP: CodeRange = CodeRange::nowhere();

/// Compiled code with hooks: the modules that registered. Of more than there is room for, signals are handled in place.
static INSTRUMENTED: [CodeRange; 1024] = [const { CodeRange::nowhere() }; 1024];

/// Records modules that were loaded since the last call.
pub fn changed() {
    let Some(mut inside) = enter() else { return };
    // SAFETY: the callback only reads the loader's tables, with the token it is given; allocations go to our own
    // allocator.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut inside).cast()) };
}

/// Forgets modules that were unloaded: another one may come to the same place.
fn unloaded(token: &mut Token<'_>) {
    unsafe extern "C" fn note(info: *mut dl_phdr_info, _: size_t, loaded: *mut c_void) -> c_int {
        // SAFETY: the loader's own data, and the list of our caller.
        unsafe { (*loaded.cast::<Vec<u64>>()).extend(extent(&*info).map(|(low, _)| low)) };
        0
    }
    let mut loaded: Vec<u64> = Vec::new();
    // SAFETY: the callback only reads the loader's tables.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast()) };
    KNOWN.made(token).retain(|low, _| loaded.contains(low));
    // Not when its destructors run: those of the program itself do so while other threads still work.
    let gone = |place: &&CodeRange| !place.is_free() && !loaded.contains(&place.start.load(Ordering::Relaxed));
    INSTRUMENTED.iter().filter(gone).for_each(|place| place.set(0, 0));
}

/// The addresses from the first to the last segment of a module.
unsafe fn extent(info: &dl_phdr_info) -> Option<(u64, u64)> {
    // SAFETY: the loader's own data.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let segments = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let at = |header: &libc::Elf64_Phdr| info.dlpi_addr + header.p_vaddr;
    let low = segments.clone().map(at).min()?;
    Some((low, segments.map(|header| at(header) + header.p_memsz).max()?))
}

/// After a fork: the child's trace needs them all again.
///
/// # Safety
/// The caller is alone.
pub unsafe fn forget() {
    // SAFETY: by the contract.
    *unsafe { KNOWN.get_alone() } = None;
}

unsafe extern "C" fn each(info: *mut dl_phdr_info, _: size_t, inside: *mut c_void) -> c_int {
    // SAFETY: the loader's own data, and what `changed` has given.
    unsafe {
        let (info, inside) = (&*info, &mut *inside.cast::<Inside>());
        let bias = info.dlpi_addr;
        let Some((low, high)) = extent(info) else { return 0 };
        if KNOWN.made(inside).insert(low, high) == Some(high) {
            return 0;
        }
        let name = std::ffi::CStr::from_ptr(info.dlpi_name).to_bytes();
        let mut own = [0u8; 4096];
        // The program itself has no name there.
        let path = if name.is_empty() {
            let len = libc::readlink(c"/proc/self/exe".as_ptr(), own.as_mut_ptr().cast(), own.len());
            &own[..len.max(0) as usize]
        } else {
            name
        };
        if path.windows(8).any(|part| part == b"/libgomp") {
            OPENMP.set(low, high);
        }
        inside.module(low, high - low, bias, path);
    }
    0
}

/// Whether code of the OpenMP library lies at `pc`. Not asked of the loader: its lock may be held by a thread that
/// waits for the token.
pub fn in_openmp(pc: u64) -> bool {
    OPENMP.contains(pc)
}

/// Whether compiled code with hooks lies at `pc`.
pub fn instrumented_code(pc: u64) -> bool {
    INSTRUMENTED.iter().any(|place| place.contains(pc))
}

/// The same without our own: a library that we call for the program may come back to us.
pub fn program_code(pc: u64) -> bool {
    let ours = super::register::__reweave_register as *const () as u64;
    INSTRUMENTED.iter().any(|place| place.contains(pc) && !place.contains(ours))
}

/// Remembers the code of the module around `marker`.
pub fn registered(marker: u64) {
    let Some(mut inside) = enter() else { return };
    let around = KNOWN.made(&mut inside).iter().find(|&(low, high)| (*low..*high).contains(&marker));
    if let Some((&low, &high)) = around
        && !INSTRUMENTED.iter().any(|place| place.contains(marker))
        && let Some(place) = INSTRUMENTED.iter().find(|place| place.is_free())
    {
        place.set(low, high);
    }
}

/// Whether any loaded module carries stubs: its constructor will register and connect.
pub fn any_instrumented() -> bool {
    unsafe extern "C" fn look(info: *mut dl_phdr_info, _: size_t, found: *mut c_void) -> c_int {
        const NT_NOTE: u32 = libc::PT_NOTE;
        // SAFETY: notes are mapped as the program headers say.
        unsafe {
            let info = &*info;
            for header in std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) {
                if header.p_type == NT_NOTE {
                    let at = (info.dlpi_addr + header.p_vaddr) as *const u8;
                    let notes = std::slice::from_raw_parts(at, header.p_memsz as usize);
                    if notes.windows(8).any(|window| window == b"reweave\0") {
                        *found.cast::<bool>() = true;
                        return 1;
                    }
                }
            }
        }
        0
    }
    let mut found = false;
    // SAFETY: the callback only reads.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

interpose! {
    /// Constructors of the library run instrumented code under the loader's lock: no hand-over meanwhile.
    fn dlopen(path: *const c_char, flags: c_int; pc) -> *mut c_void {
        let open = real!(dlopen: unsafe extern "C-unwind" fn(*const c_char, c_int) -> *mut c_void);
        match enter() {
            Some(mut inside) => {
                inside.sync_point();
                inside.forbid_preemption();
                let handle = inside.call_back(|| open(path, flags));
                inside.allow_preemption();
                drop(inside);
                if active() {
                    changed();
                }
                handle
            }
            None => open(path, flags),
        }
    }

    fn dlclose(handle: *mut c_void; pc) -> c_int {
        let close = real!(dlclose: unsafe extern "C-unwind" fn(*mut c_void) -> c_int);
        match enter() {
            Some(mut inside) => {
                inside.sync_point();
                inside.forbid_preemption();
                let status = inside.call_back(|| close(handle));
                inside.allow_preemption();
                unloaded(&mut inside);
                status
            }
            None => close(handle),
        }
    }
}
