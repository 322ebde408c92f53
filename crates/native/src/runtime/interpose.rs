//! How interposers are written: `interpose! { fn name(args; pc) -> T { … } }` exports `name` as a stub that passes the
//! caller's pc on to the body. `real!(name)` is the function that would have been called without us.

/// The argument register that follows these arguments.
macro_rules! pc_register {
    () => {
        "rdi"
    };
    ($a:ident) => {
        "rsi"
    };
    ($a:ident $b:ident) => {
        "rdx"
    };
    ($a:ident $b:ident $c:ident) => {
        "rcx"
    };
    ($a:ident $b:ident $c:ident $d:ident) => {
        "r8"
    };
    ($a:ident $b:ident $c:ident $d:ident $e:ident) => {
        "r9"
    };
}

macro_rules! interpose {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),*; $pc:ident) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        #[allow(non_snake_case, reason = "as libraries have it")]
        pub mod $name {
            #[allow(unused_imports, reason = "not every body needs its module's imports")]
            use super::*;

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                std::arch::naked_asm!(
                    concat!("mov ", pc_register!($($arg)*), ", [rsp]"),
                    "jmp {body}",
                    body = sym body
                )
            }

            #[allow(clippy::too_many_arguments, clippy::missing_safety_doc, unused_variables, reason = "as libc has it")]
            pub unsafe extern "C-unwind" fn body($($arg: $ty,)* $pc: u64) $(-> $ret)? {
                // SAFETY: the contract is that of the function replaced.
                #[allow(unused_unsafe, reason = "a few bodies are safe")]
                unsafe { $body }
            }
        }
    )*};
}

/// The next definition of a libc function, cast to the given type.
macro_rules! real {
    ($name:ident: $ty:ty) => {{
        static CELL: std::sync::atomic::AtomicPtr<()> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        let pointer = crate::runtime::real::find(&CELL, concat!(stringify!($name), "\0"));
        // SAFETY: the caller states the function's type.
        #[allow(unused_unsafe, reason = "used inside and outside of unsafe code")]
        let function = unsafe { std::mem::transmute::<*mut (), $ty>(pointer) };
        function
    }};
}
