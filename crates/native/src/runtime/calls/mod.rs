//! libc calls that read or fill the caller's memory, beyond strings and descriptors.
//!
//! Each asks the scheduler first, does its work with the token held, and then records what it has read and written: no
//! other thread runs in between, so the memory still shows it. Calls that may wait for input wait in the scheduler
//! ([`stdio::await_input`]).

use super::{Token, enter, ranges, real, strings};
use libc::c_char;

/// `fills! { fn name(args) -> T: reads [at => size, …] then |result| [at => size, …]; }` interposes a call that does
/// nothing else the model knows. A size of 0 or a null pointer records nothing.
macro_rules! fills {
    ($(
        fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty:
            reads [$($from:expr => $length:expr),*] then |$result:ident| [$($to:expr => $size:expr),*];
    )*) => {
        interpose! {$(
            fn $name($($arg: $ty),*; pc) -> $ret {
                type Call = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
                let call = real!($name: Call);
                match $crate::runtime::enter() {
                    Some(mut inside) => {
                        inside.point();
                        $($crate::runtime::calls::read(&mut inside, $from.cast(), $length, pc);)*
                        let $result = call($($arg),*);
                        $($crate::runtime::ranges::wrote(&mut inside, $to.cast(), $size, pc);)*
                        $result
                    }
                    None => call($($arg),*),
                }
            }
        )*}
    };
}

mod convert;
mod cxx;
mod files;
mod format;
mod outside;
mod sort;
mod stdio;
mod times;

/// Bytes that a call reads, or has read, after it has asked the scheduler.
fn read(token: &mut Token<'_>, at: *const u8, size: usize, pc: u64) {
    if size > 0 && !at.is_null() && !token.me().own.ignores(false) {
        token.count();
        let size = ranges::present(at as u64, size as u64) as u32;
        ranges::record(token, ranges::library(at, size, false), pc);
    }
}

/// Bytes of a string with its terminator; 0 if there is none.
///
/// # Safety
/// `text` is a string or null.
unsafe fn text(text: *const c_char) -> usize {
    // SAFETY: by the contract.
    if text.is_null() { 0 } else { unsafe { strings::strlen::real()(text.cast()) + 1 } }
}
