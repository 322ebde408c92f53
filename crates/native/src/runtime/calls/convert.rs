//! Text to numbers, addresses and messages, and back.

use super::{enter, ranges, text};
use libc::{
    c_char, c_double, c_float, c_int, c_long, c_longlong, c_uint, c_ulong, c_ulonglong, c_void, size_t, socklen_t,
};

/// Conversions that stop at the first character that does not belong: it is read, too.
macro_rules! numbers {
    ($(fn $name:ident($($base:ident: $ty:ty)?) -> $ret:ty;)*) => {
        interpose! {$(
            fn $name(from: *const c_char, end: *mut *mut c_char $(, $base: $ty)?; pc) -> $ret {
                type Call = unsafe extern "C-unwind" fn(*const c_char, *mut *mut c_char $(, $ty)?) -> $ret;
                let call = real!($name: Call);
                let Some(mut inside) = enter() else { return call(from, end $(, $base)?) };
                inside.point();
                let mut stopped = std::ptr::null_mut();
                let value = call(from, &mut stopped $(, $base)?);
                super::super::read(&mut inside, from.cast(), stopped as usize - from as usize + 1, pc);
                if !end.is_null() {
                    *end = stopped;
                    ranges::wrote(&mut inside, end.cast(), size_of::<*mut c_char>(), pc);
                }
                value
            }
        )*}
    };
}

numbers! {
    fn strtol(base: c_int) -> c_long;
    fn strtoul(base: c_int) -> c_ulong;
    fn strtoll(base: c_int) -> c_longlong;
    fn strtoull(base: c_int) -> c_ulonglong;
    fn strtoimax(base: c_int) -> c_longlong;
    fn strtoumax(base: c_int) -> c_ulonglong;
    fn __isoc23_strtol(base: c_int) -> c_long;
    fn __isoc23_strtoul(base: c_int) -> c_ulong;
    fn __isoc23_strtoll(base: c_int) -> c_longlong;
    fn __isoc23_strtoull(base: c_int) -> c_ulonglong;
    fn strtod() -> c_double;
    fn strtof() -> c_float;
}

interpose! {
    fn atoi(from: *const c_char; pc) -> c_int {
        strtol::body(from, std::ptr::null_mut(), 10, pc) as c_int
    }

    fn atol(from: *const c_char; pc) -> c_long {
        strtol::body(from, std::ptr::null_mut(), 10, pc)
    }

    fn atoll(from: *const c_char; pc) -> c_longlong {
        strtoll::body(from, std::ptr::null_mut(), 10, pc)
    }

    fn atof(from: *const c_char; pc) -> c_double {
        strtod::body(from, std::ptr::null_mut(), pc)
    }
}

/// Bytes of an address of that family.
fn address(family: c_int) -> usize {
    match family {
        libc::AF_INET => 4,
        libc::AF_INET6 => 16,
        _ => 0,
    }
}

fills! {
    fn inet_ntop(family: c_int, from: *const c_void, to: *mut c_char, room: socklen_t) -> *const c_char:
        reads [from => address(family)] then |result| [to => text(result)];
    fn inet_pton(family: c_int, from: *const c_char, to: *mut c_void) -> c_int:
        reads [from => text(from)] then |result| [to => if result == 1 { address(family) } else { 0 }];
    fn inet_aton(from: *const c_char, to: *mut c_void) -> c_int:
        reads [from => text(from)] then |result| [to => if result != 0 { 4 } else { 0 }];
    // GNU's returns the message, which need not be in the buffer.
    fn strerror_r(number: c_int, to: *mut c_char, room: size_t) -> *mut c_char:
        reads [] then |result| [to => if result == to { text(result) } else { 0 }];
    fn __xpg_strerror_r(number: c_int, to: *mut c_char, room: size_t) -> c_int:
        reads [] then |result| [to => if room > 0 { text(to) } else { 0 }];
    fn rand_r(seed: *mut c_uint) -> c_int:
        reads [seed => size_of::<c_uint>()] then |result| [seed => size_of::<c_uint>()];
}
