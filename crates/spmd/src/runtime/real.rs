//! The functions behind the interposers, and how interposers are written.

use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Looks a function of the library up once. `None`: this library has no such function.
pub fn find(cell: &AtomicPtr<c_void>, name: &str) -> Option<*mut c_void> {
    let known = cell.load(Ordering::Relaxed);
    if !known.is_null() {
        return Some(known);
    }
    let name = CString::new(name).ok()?;
    let found = super::modules::function(&name);
    cell.store(found, Ordering::Relaxed);
    (!found.is_null()).then_some(found)
}

/// The profiling name of a function (`PMPI_x`, `pshmem_x`), as the given type. Ends the process if the
/// library has none: then the program could not have called it.
macro_rules! real {
    ($name:expr, $type:ty) => {{
        static CELL: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        match $crate::runtime::real::find(&CELL, $name) {
            // SAFETY: the caller states the function's type, as the standard has it.
            Some(found) => unsafe { std::mem::transmute::<*mut std::ffi::c_void, $type>(found) },
            None => $crate::runtime::missing($name),
        }
    }};
}

/// Calls a function of the library that the program did not ask for.
macro_rules! pmpi {
    ($name:ident($($arg:expr => $type:ty),* $(,)?)) => {{
        let real = real!(stringify!($name), unsafe extern "C" fn($($type),*) -> i32);
        // SAFETY: the arguments are what the standard asks for.
        #[allow(unused_unsafe, reason = "used inside and outside of unsafe code")]
        unsafe { real($($arg),*) }
    }};
}

/// The address that the exported function returns to. Needs frame pointers, which the build of the
/// runtime asks for.
macro_rules! caller {
    () => {{
        let pc: u64;
        // SAFETY: with frame pointers, the return address lies above the saved one.
        unsafe { std::arch::asm!("mov {}, [rbp + 8]", out(reg) pc, options(nostack, readonly, preserves_flags)) };
        pc
    }};
}

/// Exports functions under the library's names. `|call| body`: `call.real` is the library's function. Calls from inside
/// another one, and all calls while nobody listens, go straight through. MPI's profiling names (`PMPI_x`) are exported
/// too, for libraries that pass the program's calls on to them; everybody else's go straight through.
macro_rules! interpose {
    ("P" $(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty { |$call:ident| $body:expr })*) => {$(
        const _: () = {
            shared! { "P" fn $name($($arg: $type),*) -> $result { |$call| $body } }

            /// # Safety
            /// As the library has it.
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            pub unsafe extern "C" fn passed_on($($arg: $type),*) -> $result {
                let pc = caller!();
                let real = real!(concat!("P", stringify!($name)), unsafe extern "C" fn($($type),*) -> $result);
                if !$crate::runtime::modules::passes_on(pc) {
                    // SAFETY: somebody else's call.
                    return unsafe { real($($arg),*) };
                }
                // SAFETY: the contract is that of the function replaced.
                unsafe { looked_at(pc, real, $($arg),*) }
            }
        };
    )*};
    ($prefix:literal $(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty { |$call:ident| $body:expr })*) => {$(
        const _: () = {
            shared! { $prefix fn $name($($arg: $type),*) -> $result { |$call| $body } }
        };
    )*};
}

/// The function under its own name, and what it does.
macro_rules! shared {
    ($prefix:literal fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty { |$call:ident| $body:expr }) => {
        /// # Safety
        /// As the library has it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "as the library has it")]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $result {
            let pc = caller!();
            let real = real!(concat!($prefix, stringify!($name)), unsafe extern "C" fn($($type),*) -> $result);
            // SAFETY: the contract is that of the function replaced.
            unsafe { looked_at(pc, real, $($arg),*) }
        }

        #[allow(clippy::too_many_arguments, reason = "as the library has it")]
        unsafe fn looked_at(
            pc: u64,
            real: unsafe extern "C" fn($($type),*) -> $result,
            $($arg: $type),*
        ) -> $result {
            let Some($call) = $crate::runtime::Replaced::enter(pc, real) else {
                // SAFETY: the program's own call.
                return unsafe { real($($arg),*) };
            };
            // SAFETY: the contract is that of the function replaced.
            #[allow(unused_unsafe, reason = "a few bodies are safe")]
            unsafe { $body }
        }
    };
}
