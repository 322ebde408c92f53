//! Which code is mapped where, so that code positions can be named.

use super::guarded::Guarded;
use super::{active, conductor, enter};
use libc::{c_char, c_int, c_void, dl_phdr_info, size_t};
use reweave_conductor::objects::AddressMap;
use reweave_model::{Addr, Op};

/// Modules already recorded, by base address.
static KNOWN: Guarded<Option<AddressMap<u64>>> = Guarded::new(None);

/// Records modules that were loaded since the last call.
pub fn changed() {
    let Some(inside) = enter() else { return };
    let thread: *mut c_void = (&raw const *inside.thread).cast_mut().cast();
    // SAFETY: the callback only reads the loader's tables; allocations go to our own allocator.
    unsafe { libc::dl_iterate_phdr(Some(each), thread) };
}

/// Forgets modules that were unloaded: another one may come to the same place.
fn unloaded() {
    unsafe extern "C" fn note(info: *mut dl_phdr_info, _: size_t, loaded: *mut c_void) -> c_int {
        // SAFETY: the loader's own data, and the list of our caller.
        unsafe { (*loaded.cast::<Vec<u64>>()).extend(extent(&*info).map(|(low, _)| low)) };
        0
    }
    let mut loaded: Vec<u64> = Vec::new();
    // SAFETY: the callback only reads the loader's tables.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast()) };
    KNOWN.made().retain(|low, _| loaded.contains(low));
    // Not when its destructors run: those of the program itself do so while other threads still work.
    INSTRUMENTED.get().retain(|range| loaded.contains(&range.start));
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
pub fn forget() {
    *KNOWN.get() = None;
}

unsafe extern "C" fn each(info: *mut dl_phdr_info, _: size_t, thread: *mut c_void) -> c_int {
    // SAFETY: the loader's own data, and the row of this thread.
    unsafe {
        let (info, thread) = (&*info, &mut *thread.cast::<reweave_conductor::Thread>());
        let bias = info.dlpi_addr;
        let Some((low, high)) = extent(info).filter(|&(low, high)| KNOWN.made().insert(low, high) != Some(high)) else {
            return 0;
        };
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
            *OPENMP.get() = low..high;
        }
        let op = Op::Module { base: Addr(low), size: high - low, bias, path };
        conductor().recorder.event(thread, 0, op);
        conductor().policy.module(low, high - low, bias, path);
    }
    0
}

/// Whether code of the OpenMP library lies at `pc`. Not asked of the loader: its lock may be held by a thread that waits
/// for the token.
pub fn in_openmp(pc: u64) -> bool {
    OPENMP.get().contains(&pc)
}

static OPENMP: Guarded<std::ops::Range<u64>> = Guarded::new(0..0);

/// Whether compiled code with hooks lies at `pc`: the modules are those that registered.
pub fn instrumented_code(pc: u64) -> bool {
    INSTRUMENTED.get().iter().any(|range| range.contains(&pc))
}

/// Remembers the code of the module around `marker`.
pub fn registered(marker: u64) {
    let range = KNOWN.made().iter().map(|(&low, &high)| low..high).find(|range| range.contains(&marker));
    INSTRUMENTED.get().extend(range.filter(|range| !INSTRUMENTED.get().contains(range)));
}

static INSTRUMENTED: Guarded<Vec<std::ops::Range<u64>>> = Guarded::new(Vec::new());

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
                conductor().sync_point(inside.thread);
                inside.thread.no_preempt += 1;
                let handle = inside.outside(|| open(path, flags));
                inside.thread.no_preempt -= 1;
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
                conductor().sync_point(inside.thread);
                inside.thread.no_preempt += 1;
                let status = inside.outside(|| close(handle));
                inside.thread.no_preempt -= 1;
                unloaded();
                status
            }
            None => close(handle),
        }
    }
}
