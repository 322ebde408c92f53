//! Formatted output and input: the exported names, and what their C side (`shims.c`) needs of the runtime.

use super::{enter, ranges, real, stdio};
use crate::runtime::{Inside, hold, memory};
use libc::{FILE, c_char, c_int, c_void};
use std::ffi::CStr;
use std::sync::atomic::AtomicPtr;

/// Exports names whose functions are written in C: a cdylib does not export those itself.
macro_rules! shims {
    ($($name:ident => $shim:ident,)*) => {
        unsafe extern "C" { $(fn $shim();)* }
        $(
            /// # Safety
            /// As for the function replaced.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                std::arch::naked_asm!("jmp {shim}", shim = sym $shim)
            }
        )*
    };
}

shims! {
    sprintf => shim_sprintf,
    snprintf => shim_snprintf,
    vsprintf => shim_vsprintf,
    vsnprintf => shim_vsnprintf,
    __sprintf_chk => shim___sprintf_chk,
    __snprintf_chk => shim___snprintf_chk,
    __vsprintf_chk => shim___vsprintf_chk,
    __vsnprintf_chk => shim___vsnprintf_chk,
    asprintf => shim_asprintf,
    vasprintf => shim_vasprintf,
    __asprintf_chk => shim___asprintf_chk,
    __vasprintf_chk => shim___vasprintf_chk,
    printf => shim_printf,
    vprintf => shim_vprintf,
    fprintf => shim_fprintf,
    vfprintf => shim_vfprintf,
    dprintf => shim_dprintf,
    vdprintf => shim_vdprintf,
    __printf_chk => shim___printf_chk,
    __vprintf_chk => shim___vprintf_chk,
    __fprintf_chk => shim___fprintf_chk,
    __vfprintf_chk => shim___vfprintf_chk,
    __dprintf_chk => shim___dprintf_chk,
    sscanf => shim_sscanf,
    vsscanf => shim_vsscanf,
    fscanf => shim_fscanf,
    vfscanf => shim_vfscanf,
    scanf => shim_scanf,
    vscanf => shim_vscanf,
    __isoc99_sscanf => shim___isoc99_sscanf,
    __isoc99_vsscanf => shim___isoc99_vsscanf,
    __isoc99_fscanf => shim___isoc99_fscanf,
    __isoc99_vfscanf => shim___isoc99_vfscanf,
    __isoc99_scanf => shim___isoc99_scanf,
    __isoc99_vscanf => shim___isoc99_vscanf,
    __isoc23_sscanf => shim___isoc23_sscanf,
    __isoc23_vsscanf => shim___isoc23_vsscanf,
    __isoc23_fscanf => shim___isoc23_fscanf,
    __isoc23_vfscanf => shim___isoc23_vfscanf,
    __isoc23_scanf => shim___isoc23_scanf,
    __isoc23_vscanf => shim___isoc23_vscanf,
}

/// The thread between `__reweave_begin` and `__reweave_end`.
fn between() -> Inside {
    // SAFETY: what `__reweave_begin` entered is forgotten: no other token of this thread is in use.
    match unsafe { hold() } {
        Some(token) => Inside::with(token),
        None => unreachable!("`__reweave_begin` has seen the row of this very thread"),
    }
}

/// Starts a recorded call; 0: do not record it.
#[unsafe(no_mangle)]
extern "C" fn __reweave_begin() -> c_int {
    match enter() {
        Some(mut inside) => {
            inside.point();
            std::mem::forget(inside);
            1
        }
        None => 0,
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __reweave_end() {
    drop(between());
}

#[unsafe(no_mangle)]
extern "C" fn __reweave_read(at: *const u8, size: usize, pc: u64) {
    let mut inside = between();
    super::read(&mut inside, at, size, pc);
    std::mem::forget(inside);
}

#[unsafe(no_mangle)]
extern "C" fn __reweave_wrote(at: *const u8, size: usize, pc: u64) {
    let mut inside = between();
    ranges::wrote(&mut inside, at, size, pc);
    std::mem::forget(inside);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __reweave_allocate(size: usize, pc: u64) -> *mut c_void {
    let mut inside = between();
    // SAFETY: a plain allocation, recorded as the program's own.
    let block = inside.call_back(|| unsafe { memory::malloc::body(size, pc) });
    std::mem::forget(inside);
    block
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __reweave_await_input(stream: *mut FILE, pc: u64) -> c_int {
    let mut inside = between();
    // SAFETY: the program's own stream.
    let ready = unsafe { stdio::await_input(&mut inside, pc, stream) };
    std::mem::forget(inside);
    ready.into()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __reweave_output(stream: *mut FILE, size: usize, pc: u64) {
    let mut inside = between();
    // SAFETY: the program's own stream.
    unsafe { stdio::sends(&mut inside, pc, stream, size) };
    std::mem::forget(inside);
}

/// libc's function of that name, remembered in `cell`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __reweave_real(cell: *mut *mut (), name: *const c_char) -> *mut () {
    // SAFETY: both are constants of the shims.
    unsafe { real::find(AtomicPtr::from_ptr(cell), constant(name)) }
}

/// A literal of the shims with its terminator.
unsafe fn constant(name: *const c_char) -> &'static str {
    // SAFETY: ASCII, and it stays.
    unsafe { str::from_utf8_unchecked(CStr::from_ptr(name).to_bytes_with_nul()) }
}
