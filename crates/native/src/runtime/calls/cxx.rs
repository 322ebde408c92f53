//! What the C++ library writes into strings of the program, in code that nobody instrumented: `std::getline`, `>>`, and
//! the members of `std::string` that are not inline (`_M_append` and its like).
//!
//! The library may wait for input meanwhile, and allocates: so the call itself is made outside of the runtime, after
//! the scheduler was asked, and what it has changed is recorded behind it.

use super::{enter, ranges};
use crate::runtime::modules;
use libc::c_char;

/// As libstdc++ lays it out since its fifth version; the capacity, or short text itself, follows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    data: *mut u8,
    length: usize,
}

/// Where the text of a call begins to change, if it stays where it is.
#[derive(Clone, Copy)]
enum From {
    Start,
    End,
}

/// Asks the scheduler. What the library does to its own strings is its own affair.
///
/// # Safety
/// A string of the library's, or null.
unsafe fn before(text: *mut Text, pc: u64) -> Option<Text> {
    let mut inside = enter()?;
    if text.is_null() || !modules::instrumented_code(pc) {
        return None;
    }
    // They all change the length, most of them at once: here somebody else can still come first.
    ranges::writes(&mut inside, text.cast::<u8>().wrapping_add(size_of::<usize>()), size_of::<usize>(), pc);
    // SAFETY: by the contract.
    Some(unsafe { *text })
}

/// Records what has changed.
///
/// # Safety
/// A string of the library's.
unsafe fn after(text: *mut Text, old: Option<Text>, from: From, pc: u64) {
    let (Some(old), Some(mut inside)) = (old, enter()) else { return };
    // SAFETY: by the contract.
    let new = unsafe { *text };
    let word = size_of::<usize>();
    let (header, size, from) = match from {
        // With the capacity, or with the bytes of short text.
        _ if new.data != old.data => (text.cast::<u8>(), 3 * word, 0),
        From::Start => (text.cast::<u8>().wrapping_add(word), word, 0),
        From::End => (text.cast::<u8>().wrapping_add(word), word, old.length.min(new.length)),
    };
    ranges::wrote(&mut inside, header, size, pc);
    ranges::wrote(&mut inside, new.data.wrapping_add(from), new.length - from + 1, pc);
}

macro_rules! texts {
    ($(fn $name:ident($text:ident $(, $arg:ident: $ty:ty)*) $from:ident;)*) => {
        interpose! {$(
            fn $name($text: *mut Text $(, $arg: $ty)*; pc) -> usize {
                let call = real!($name: unsafe extern "C-unwind" fn(*mut Text $(, $ty)*) -> usize);
                let old = before($text, pc);
                let result = call($text $(, $arg)*);
                after($text, old, From::$from, pc);
                result
            }
        )*}
    };
}

texts! {
    fn _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm(text, from: usize, length: usize) End;
    fn _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_assignERKS4_(text, other: usize) Start;
    fn _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_replaceEmmPKcm(text, at: usize, old: usize, from: usize, length: usize) Start;
    fn _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE14_M_replace_auxEmmmc(text, at: usize, old: usize, count: usize, letter: c_char) Start;
    fn _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8_M_eraseEmm(text, at: usize, length: usize) Start;
}

macro_rules! inputs {
    ($(fn $name:ident($($arg:ident: $ty:ty)?);)*) => {
        interpose! {$(
            fn $name(stream: usize, text: *mut Text $(, $arg: $ty)?; pc) -> usize {
                let call = real!($name: unsafe extern "C-unwind" fn(usize, *mut Text $(, $ty)?) -> usize);
                let old = before(text, pc);
                let result = call(stream, text $(, $arg)?);
                after(text, old, From::Start, pc);
                result
            }
        )*}
    };
}

inputs! {
    fn _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE();
    fn _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_(end: c_char);
    fn _ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE();
}
