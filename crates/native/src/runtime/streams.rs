//! What libstdc++ changes in the program's output streams by code of its own: how full their buffers are. A stream that
//! writes through at once (`std::cout`, unless told otherwise) has no such place, and may be used by all.
//!
//! The library is called without the token, as it may write to a file. Afterwards the place is recorded as written if it
//! has moved; who asks for the text of a stream reads it.

use super::{enter, modules, ranges};

/// `std::basic_ostream<char>`, or what is derived from it.
pub type Stream = *mut *const isize;

/// Where the table of virtual functions says how far the shared base lies (`vbase_offset`), in words.
const BASE: isize = -3;
/// `std::basic_ios<char>::_M_streambuf`
const BUFFER: isize = 232;
/// `std::basic_streambuf<char>::_M_out_cur`
const NEXT: usize = 40;

/// Where a stream keeps the place of its next character.
///
/// # Safety
/// A stream.
unsafe fn next(stream: Stream) -> Option<*mut usize> {
    // SAFETY: by the contract, as the layout of these classes is fixed.
    unsafe {
        let base = *(*stream).offset(BASE);
        let buffer = *stream.byte_offset(base + BUFFER).cast::<*mut u8>();
        (!buffer.is_null()).then(|| buffer.add(NEXT).cast())
    }
}

/// Lets the library write.
///
/// # Safety
/// A stream.
unsafe fn inserting(stream: Stream, pc: u64, insert: impl FnOnce() -> Stream) -> Stream {
    // The library calls these itself, too: what the program asks for is recorded once, where it does.
    // SAFETY: by the contract.
    let next = unsafe { next(stream) }.filter(|_| modules::program_code(pc));
    // SAFETY: a word of the buffer.
    let before = next.map(|next| unsafe { *next });
    if let Some(next) = next.filter(|_| before != Some(0))
        && let Some(mut inside) = enter()
    {
        // The library moves it before anybody is asked again: here somebody else can still come first.
        ranges::writes(&mut inside, next.cast(), size_of::<usize>(), pc);
    }
    let stream = insert();
    if let Some(next) = next
        // SAFETY: the buffer is still there.
        && Some(unsafe { *next }) != before
        && let Some(mut inside) = enter()
    {
        ranges::wrote(&mut inside, next.cast(), size_of::<usize>(), pc);
    }
    stream
}

/// Functions that put one value into a stream.
macro_rules! inserts {
    ($($name:ident($($arg:ident: $ty:ty),*))*) => {
        interpose! {$(
            fn $name(stream: Stream $(, $arg: $ty)*; pc) -> Stream {
                let insert = real!($name: unsafe extern "C-unwind" fn(Stream $(, $ty)*) -> Stream);
                inserting(stream, pc, || insert(stream $(, $arg)*))
            }
        )*}
    };
}

inserts! {
    _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l(text: *const u8, length: isize)
    _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc(text: *const u8)
    _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c(value: i8)
    _ZNSo3putEc(value: i8)
    _ZNSo5writeEPKcl(text: *const u8, length: isize)
    _ZNSolsEb(value: bool)
    _ZNSolsEs(value: i16)
    _ZNSolsEt(value: u16)
    _ZNSolsEi(value: i32)
    _ZNSolsEj(value: u32)
    _ZNSolsEl(value: i64)
    _ZNSolsEm(value: u64)
    _ZNSolsEx(value: i64)
    _ZNSolsEy(value: u64)
    _ZNSolsEPKv(value: *const u8)
    _ZNSo9_M_insertIbEERSoT_(value: bool)
    _ZNSo9_M_insertIlEERSoT_(value: i64)
    _ZNSo9_M_insertImEERSoT_(value: u64)
    _ZNSo9_M_insertIxEERSoT_(value: i64)
    _ZNSo9_M_insertIyEERSoT_(value: u64)
    _ZNSo9_M_insertIPKvEERSoT_(value: *const u8)
}

/// The same for numbers that come in another kind of register.
macro_rules! inserts_floats {
    ($($name:ident($ty:ty))*) => {$(
        #[allow(non_snake_case, reason = "as libraries have it")]
        pub mod $name {
            use super::{Stream, inserting};

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                std::arch::naked_asm!("mov rsi, [rsp]", "jmp {body}", body = sym body)
            }

            unsafe extern "C-unwind" fn body(stream: Stream, value: $ty, pc: u64) -> Stream {
                let insert = real!($name: unsafe extern "C-unwind" fn(Stream, $ty) -> Stream);
                // SAFETY: the contract is that of the function replaced.
                unsafe { inserting(stream, pc, || insert(stream, value)) }
            }
        }
    )*};
}

inserts_floats! {
    _ZNSolsEd(f64)
    _ZNSolsEf(f32)
    _ZNSo9_M_insertIdEERSoT_(f64)
}

/// Functions that return the text of a stream, as a string that the caller has room for.
macro_rules! texts {
    ($($name:ident)*) => {
        interpose! {$(
            fn $name(text: *mut u8, stream: Stream; pc) -> *mut u8 {
                let give = real!($name: unsafe extern "C-unwind" fn(*mut u8, Stream) -> *mut u8);
                if let Some(next) = next(stream)
                    && let Some(mut inside) = enter()
                {
                    ranges::reads(&mut inside, next.cast(), size_of::<usize>(), pc);
                }
                give(text, stream)
            }
        )*}
    };
}

texts! {
    _ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv
    _ZNKSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv
}
