//! How these functions are exported.

/// What stands in for a libc function that has not been found yet: the early version if there is one.
macro_rules! before_known {
    ($real:ident, $name:ident) => {{
        let found = $crate::runtime::real::find(&$real, $name);
        // SAFETY: the type is that of the function replaced.
        unsafe { std::mem::transmute::<*mut (), Function>(found) }
    }};
    ($real:ident, $name:ident, $early:path) => {
        $early
    };
}

/// `strings! { fn name(args; inside, pc) -> T [early plain::name] { recorded } }` exports `name`. Programs call these
/// functions all the time, so a process that is not under control goes on to libc without leaving its registers.
/// `early` stands in until libc's function is known; without one it is looked up then.
macro_rules! strings {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($arg:ident: $ty:ty),*; $inside:ident, $pc:ident) -> $ret:ty $([early $early:path])? $body:block
    )*) => {
        $(
            $(#[$meta])*
            pub mod $name {
                use super::*;

                pub type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;

                /// Null until libc's function has been found; zero before relocation too.
                static REAL: std::sync::atomic::AtomicPtr<()> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
                const NAME: &str = concat!(stringify!($name), "\0");
                pub const ENTRY: $crate::runtime::strings::LibcFunction = (&REAL, NAME);

                /// libc's function.
                pub fn real() -> Function {
                    let known = REAL.load(std::sync::atomic::Ordering::Relaxed);
                    if known.is_null() {
                        return before_known!(REAL, NAME $(, $early)?);
                    }
                    // SAFETY: the type is that of the function replaced.
                    unsafe { std::mem::transmute::<*mut (), Function>(known) }
                }

                /// # Safety
                /// As for the function replaced.
                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                pub unsafe extern "C" fn $name() {
                    std::arch::naked_asm!(
                        "cmp qword ptr [rip + {conductor}], 0",
                        "jne 2f",
                        "mov rax, qword ptr [rip + {real}]",
                        "test rax, rax",
                        "jz 2f",
                        "jmp rax",
                        "2:",
                        concat!("mov ", pc_register!($($arg)*), ", [rsp]"),
                        "jmp {body}",
                        conductor = sym $crate::runtime::CONDUCTOR,
                        real = sym REAL,
                        body = sym body
                    )
                }

                /// # Safety
                /// As for the function replaced.
                pub unsafe extern "C-unwind" fn body($($arg: $ty,)* $pc: u64) -> $ret {
                    // SAFETY: the contract is that of the function replaced.
                    unsafe {
                        match $crate::runtime::strings::recorded($pc) {
                            Some(mut guard) => {
                                let $inside = &mut guard;
                                $body
                            }
                            None => real()($($arg),*),
                        }
                    }
                }
            }
        )*

        pub const LIST: &[$crate::runtime::strings::LibcFunction] = &[$($name::ENTRY),*];
    };
}
