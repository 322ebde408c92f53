//! Outside inputs that are not read from descriptors: random bytes, what the system counts, and what it says about
//! sockets. They are recorded with their bytes and played back on replay.

use super::{enter, ranges};
use crate::runtime::{Inside, descriptors, strings, system};
use libc::{c_int, c_uint, c_void, clock_t, rusage, size_t, sockaddr, socklen_t, ssize_t, tms};
use reweave_model::{InputSource, Op, wire};

/// Takes an input by `call`, which fills `size` bytes at `to` and gives a result, of which `filled` says how many bytes
/// are valid.
unsafe fn input(
    inside: &mut Inside,
    pc: u64,
    source: InputSource,
    to: *mut u8,
    call: impl FnOnce() -> i64,
    filled: impl Fn(i64) -> usize,
) -> i64 {
    inside.point();
    let mut value = call();
    let errno = system::errno();
    if let Some((recorded, bytes)) = inside.recorded_input(source)
        && bytes.len() == filled(recorded)
    {
        value = recorded;
        // SAFETY: the same call filled as many bytes when it was recorded.
        unsafe { strings::memmove::real()(to, bytes.as_ptr(), bytes.len()) };
    }
    let size = filled(value);
    // SAFETY: filled just now. Longer inputs are recorded without bytes.
    let bytes = unsafe { std::slice::from_raw_parts(to, if size <= wire::MAX_PAYLOAD { size } else { 0 }) };
    inside.step(pc, Op::Input { source, value, bytes });
    ranges::wrote(inside, to, size, pc);
    system::set_errno(errno);
    value
}

/// Takes what the kernel says about a socket by `call`, which fills at most `*length` bytes at `to` and says there how
/// many there are: who is at the other end is another one in every run.
unsafe fn about_socket(
    inside: &mut Inside,
    pc: u64,
    to: *mut u8,
    length: *mut socklen_t,
    call: impl FnOnce() -> c_int,
) -> c_int {
    inside.point();
    super::read(inside, length.cast(), size_of::<socklen_t>(), pc);
    // SAFETY: the program's own argument.
    let room = unsafe { length.as_ref() }.map_or(0, |length| *length as usize);
    let mut status = call();
    let mut errno = system::errno();
    let plays = inside.plays_back();
    if let Some((value, bytes)) = inside.recorded_input(InputSource::Other)
        && plays
        && !length.is_null()
    {
        (status, errno) = if value < 0 { (-1, -value as c_int) } else { (0, 0) };
        if status == 0 && bytes.len() <= room {
            // SAFETY: the program's own arguments: room for so many bytes.
            unsafe {
                strings::memmove::real()(to, bytes.as_ptr(), bytes.len());
                *length = bytes.len() as socklen_t;
            }
        }
    }
    // SAFETY: the program's own argument.
    let size = if status == 0 && !length.is_null() { room.min(unsafe { *length } as usize) } else { 0 };
    // SAFETY: filled by the call, or above.
    let bytes = if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(to, size) } };
    let result = if status < 0 { -1 } else { 0 };
    inside.step(pc, descriptors::input(InputSource::Other, result, errno, bytes));
    if status == 0 {
        ranges::wrote(inside, length.cast(), size_of::<socklen_t>(), pc);
        ranges::wrote(inside, to, size, pc);
    }
    system::set_errno(errno);
    status
}

/// A number that is itself the input.
unsafe fn number(pc: u64, call: impl FnOnce() -> u32) -> Option<u32> {
    let mut inside = enter()?;
    // SAFETY: no bytes are filled.
    let value =
        unsafe { input(&mut inside, pc, InputSource::Random, std::ptr::dangling_mut(), || call().into(), |_| 0) };
    Some(value as u32)
}

interpose! {
    fn getrandom(to: *mut c_void, size: size_t, flags: c_uint; pc) -> ssize_t {
        let call = real!(getrandom: unsafe extern "C-unwind" fn(*mut c_void, size_t, c_uint) -> ssize_t);
        match enter() {
            Some(mut inside) => {
                let get = || call(to, size, flags) as i64;
                input(&mut inside, pc, InputSource::Random, to.cast(), get, |got| got.max(0) as usize) as ssize_t
            }
            None => call(to, size, flags),
        }
    }

    fn getentropy(to: *mut c_void, size: size_t; pc) -> c_int {
        let call = real!(getentropy: unsafe extern "C-unwind" fn(*mut c_void, size_t) -> c_int);
        match enter() {
            Some(mut inside) => {
                let get = || call(to, size).into();
                let filled = |status| if status == 0 { size } else { 0 };
                input(&mut inside, pc, InputSource::Random, to.cast(), get, filled) as c_int
            }
            None => call(to, size),
        }
    }

    fn arc4random(; pc) -> u32 {
        let call = real!(arc4random: unsafe extern "C-unwind" fn() -> u32);
        number(pc, || call()).unwrap_or_else(|| call())
    }

    fn arc4random_uniform(bound: u32; pc) -> u32 {
        let call = real!(arc4random_uniform: unsafe extern "C-unwind" fn(u32) -> u32);
        number(pc, || call(bound)).unwrap_or_else(|| call(bound))
    }

    fn arc4random_buf(to: *mut c_void, size: size_t; pc) {
        let call = real!(arc4random_buf: unsafe extern "C-unwind" fn(*mut c_void, size_t));
        match enter() {
            Some(mut inside) => {
                let get = || { call(to, size); 0 };
                input(&mut inside, pc, InputSource::Random, to.cast(), get, |_| size);
            }
            None => call(to, size),
        }
    }

    fn getsockname(socket: c_int, to: *mut sockaddr, length: *mut socklen_t; pc) -> c_int {
        let call = real!(getsockname: unsafe extern "C-unwind" fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int);
        match enter() {
            Some(mut inside) => about_socket(&mut inside, pc, to.cast(), length, || call(socket, to, length)),
            None => call(socket, to, length),
        }
    }

    fn getpeername(socket: c_int, to: *mut sockaddr, length: *mut socklen_t; pc) -> c_int {
        let call = real!(getpeername: unsafe extern "C-unwind" fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int);
        match enter() {
            Some(mut inside) => about_socket(&mut inside, pc, to.cast(), length, || call(socket, to, length)),
            None => call(socket, to, length),
        }
    }

    fn getsockopt(socket: c_int, level: c_int, option: c_int, to: *mut c_void, length: *mut socklen_t; pc) -> c_int {
        type Option = unsafe extern "C-unwind" fn(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int;
        let call = real!(getsockopt: Option);
        match enter() {
            Some(mut inside) => {
                about_socket(&mut inside, pc, to.cast(), length, || call(socket, level, option, to, length))
            }
            None => call(socket, level, option, to, length),
        }
    }

    fn times(to: *mut tms; pc) -> clock_t {
        let call = real!(times: unsafe extern "C-unwind" fn(*mut tms) -> clock_t);
        match enter() {
            Some(mut inside) => {
                let filled = |ticks| if to.is_null() || ticks < 0 { 0 } else { size_of::<tms>() };
                input(&mut inside, pc, InputSource::Other, to.cast(), || call(to), filled)
            }
            None => call(to),
        }
    }

    fn getrusage(who: c_int, to: *mut rusage; pc) -> c_int {
        let call = real!(getrusage: unsafe extern "C-unwind" fn(c_int, *mut rusage) -> c_int);
        match enter() {
            Some(mut inside) => {
                let filled = |status| if status == 0 { size_of::<rusage>() } else { 0 };
                input(&mut inside, pc, InputSource::Other, to.cast(), || call(who, to).into(), filled) as c_int
            }
            None => call(who, to),
        }
    }
}
