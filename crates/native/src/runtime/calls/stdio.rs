//! Streams. Calls on them run with the thread marked as inside the runtime: a hand-over in the middle (libc allocates
//! buffers) would leave the stream locked for everybody else.
//!
//! `flockfile` is modelled as a lock; other calls take it only if another thread holds it that way.

use super::{enter, ranges, text};
use crate::runtime::{Inside, channels, descriptors, locks, memory, strings, system};
use libc::{FILE, c_char, c_int, c_void, size_t, ssize_t};
use reweave_conductor::{Deadline, NO_THREAD};

/// The beginning of glibc's FILE, part of its ABI since `getc` was a macro.
#[repr(C)]
struct Head {
    flags: c_int,
    read_next: *mut u8,
    read_end: *mut u8,
}

const ERROR_SEEN: c_int = 0x20;
const END_SEEN: c_int = 0x10;

/// -1 for a stream in memory.
unsafe fn descriptor(stream: *mut FILE) -> c_int {
    let errno = system::errno();
    // SAFETY: a valid stream.
    let descriptor = unsafe { libc::fileno(stream) };
    system::set_errno(errno);
    descriptor
}

/// Descriptors beyond the standard ones: what those are connected to differs between runs.
unsafe fn own_channel(inside: &mut Inside, stream: *mut FILE) -> Option<(u64, u64)> {
    // SAFETY: a valid stream.
    let descriptor = unsafe { descriptor(stream) };
    if descriptor > libc::STDERR_FILENO { channels::channel(inside, descriptor) } else { None }
}

/// Waits until the stream has something to read. False: a signal handler asked to be heard, the call fails with EINTR.
///
/// # Safety
/// `stream` is valid.
pub unsafe fn await_input(inside: &mut Inside, pc: u64, stream: *mut FILE) -> bool {
    // SAFETY: by the contract.
    unsafe {
        let head = stream.cast::<Head>();
        if (*head).read_next < (*head).read_end || (*head).flags & END_SEEN != 0 {
            return true;
        }
        let errno = system::errno();
        let descriptor = descriptor(stream);
        if descriptor >= 0 {
            if !descriptors::really_ready(inside, pc, descriptor, libc::POLLIN) {
                (*head).flags |= ERROR_SEEN;
                return false;
            }
            if let Some((_, channel)) = own_channel(inside, stream) {
                // How much of it the stream takes is not known: everything sent so far comes before.
                inside.receive(pc, channel, None);
            }
        }
        system::set_errno(errno);
        true
    }
}

/// Bytes are on their way through a pipe of the program. Recorded when they are handed to the stream, which is before
/// they can be received.
///
/// # Safety
/// `stream` is valid.
pub unsafe fn sends(inside: &mut Inside, pc: u64, stream: *mut FILE, size: usize) {
    if size == 0 {
        return;
    }
    // SAFETY: by the contract.
    if let Some((channel, _)) = unsafe { own_channel(inside, stream) } {
        inside.send(pc, channel, size as u64);
    }
}

/// Runs a call on a stream that another thread may have locked by `flockfile`.
unsafe fn on_stream<R>(inside: &mut Inside, pc: u64, stream: *mut FILE, call: impl FnOnce(&mut Inside) -> R) -> R {
    let lock = stream as u64;
    let owner = inside.owner(lock);
    let locked = !stream.is_null() && owner != NO_THREAD && owner != inside.id();
    if locked {
        locks::lock(inside, pc, lock, libc::PTHREAD_MUTEX_RECURSIVE, Deadline::Never);
    }
    let result = call(inside);
    if locked {
        locks::unlock(inside, pc, lock, true);
    }
    result
}

/// Reads a line by `call`, which returns it or null.
unsafe fn line(inside: &mut Inside, pc: u64, stream: *mut FILE, call: impl FnOnce() -> *mut c_char) -> *mut c_char {
    // SAFETY: the program's own call.
    unsafe {
        on_stream(inside, pc, stream, |inside| {
            if !await_input(inside, pc, stream) {
                return std::ptr::null_mut();
            }
            let got = call();
            ranges::wrote(inside, got.cast(), text(got), pc);
            got
        })
    }
}

/// Reads blocks by `call`, which returns how many; the first `unit * count` bytes at `to` are theirs.
unsafe fn blocks(
    inside: &mut Inside,
    pc: u64,
    stream: *mut FILE,
    to: *mut c_void,
    unit: size_t,
    call: impl FnOnce() -> size_t,
) -> size_t {
    // SAFETY: the program's own call.
    unsafe {
        on_stream(inside, pc, stream, |inside| {
            if !await_input(inside, pc, stream) {
                return 0;
            }
            let got = call();
            ranges::wrote(inside, to.cast(), got * unit, pc);
            got
        })
    }
}

type Delim = unsafe extern "C-unwind" fn(*mut *mut c_char, *mut size_t, c_int, *mut FILE) -> ssize_t;

/// `getdelim` into a buffer of its own, then into the program's, which the trace knows as a block.
unsafe fn delimited(
    inside: &mut Inside,
    pc: u64,
    out: *mut *mut c_char,
    room: *mut size_t,
    delimiter: c_int,
    stream: *mut FILE,
) -> ssize_t {
    /// What libc starts with.
    const LEAST: usize = 120;
    // SAFETY: the program's own arguments.
    unsafe {
        if !await_input(inside, pc, stream) {
            return -1;
        }
        let (mut own, mut own_room) = (std::ptr::null_mut(), 0);
        let length = real!(getdelim: Delim)(&mut own, &mut own_room, delimiter, stream);
        let errno = system::errno();
        if length >= 0 {
            let need = length as usize + 1;
            super::read(inside, out.cast(), size_of::<*mut c_char>(), pc);
            super::read(inside, room.cast(), size_of::<size_t>(), pc);
            if (*out).is_null() || *room < need {
                let size = need.max(LEAST);
                let block = inside.call_back(|| memory::realloc::body((*out).cast(), size, pc));
                (*out, *room) = (block.cast(), size);
                ranges::wrote(inside, out.cast(), size_of::<*mut c_char>(), pc);
                ranges::wrote(inside, room.cast(), size_of::<size_t>(), pc);
            }
            strings::memmove::real()((*out).cast(), own.cast(), need);
            ranges::wrote(inside, (*out).cast(), need, pc);
        }
        libc::free(own.cast());
        system::set_errno(errno);
        length
    }
}

type Gets = unsafe extern "C-unwind" fn(*mut c_char, c_int, *mut FILE) -> *mut c_char;
type GetsChecked = unsafe extern "C-unwind" fn(*mut c_char, size_t, c_int, *mut FILE) -> *mut c_char;
type Blocks = unsafe extern "C-unwind" fn(*mut c_void, size_t, size_t, *mut FILE) -> size_t;
type BlocksChecked = unsafe extern "C-unwind" fn(*mut c_void, size_t, size_t, size_t, *mut FILE) -> size_t;

/// Names that differ only in how libc locks the stream.
macro_rules! twins {
    ($($gets:ident $gets_checked:ident $read:ident $read_checked:ident $write:ident $puts:ident;)*) => {
        interpose! {$(
            fn $gets(to: *mut c_char, size: c_int, stream: *mut FILE; pc) -> *mut c_char {
                let call = real!($gets: Gets);
                match enter() {
                    Some(mut inside) => line(&mut inside, pc, stream, || call(to, size, stream)),
                    None => call(to, size, stream),
                }
            }

            fn $gets_checked(to: *mut c_char, room: size_t, size: c_int, stream: *mut FILE; pc) -> *mut c_char {
                let call = real!($gets_checked: GetsChecked);
                match enter() {
                    Some(mut inside) => line(&mut inside, pc, stream, || call(to, room, size, stream)),
                    None => call(to, room, size, stream),
                }
            }

            fn $read(to: *mut c_void, unit: size_t, count: size_t, stream: *mut FILE; pc) -> size_t {
                let call = real!($read: Blocks);
                match enter() {
                    Some(mut inside) => blocks(&mut inside, pc, stream, to, unit, || call(to, unit, count, stream)),
                    None => call(to, unit, count, stream),
                }
            }

            fn $read_checked(to: *mut c_void, room: size_t, unit: size_t, count: size_t, stream: *mut FILE; pc) -> size_t {
                let call = real!($read_checked: BlocksChecked);
                match enter() {
                    Some(mut inside) => blocks(&mut inside, pc, stream, to, unit, || call(to, room, unit, count, stream)),
                    None => call(to, room, unit, count, stream),
                }
            }

            fn $write(from: *const c_void, unit: size_t, count: size_t, stream: *mut FILE; pc) -> size_t {
                type Write = unsafe extern "C-unwind" fn(*const c_void, size_t, size_t, *mut FILE) -> size_t;
                let call = real!($write: Write);
                match enter() {
                    Some(mut inside) => on_stream(&mut inside, pc, stream, |inside| {
                        let size = unit.saturating_mul(count);
                        inside.point();
                        super::super::read(inside, from.cast(), size, pc);
                        sends(inside, pc, stream, size);
                        call(from, unit, count, stream)
                    }),
                    None => call(from, unit, count, stream),
                }
            }

            fn $puts(line: *const c_char, stream: *mut FILE; pc) -> c_int {
                let call = real!($puts: unsafe extern "C-unwind" fn(*const c_char, *mut FILE) -> c_int);
                match enter() {
                    Some(mut inside) => on_stream(&mut inside, pc, stream, |inside| {
                        inside.point();
                        let size = text(line);
                        super::super::read(inside, line.cast(), size, pc);
                        sends(inside, pc, stream, size.saturating_sub(1));
                        call(line, stream)
                    }),
                    None => call(line, stream),
                }
            }
        )*}
    };
}

twins! {
    fgets __fgets_chk fread __fread_chk fwrite fputs;
    fgets_unlocked __fgets_unlocked_chk fread_unlocked __fread_unlocked_chk fwrite_unlocked fputs_unlocked;
}

unsafe extern "C" {
    static stdin: *mut FILE;
    static stdout: *mut FILE;
}

interpose! {
    fn puts(line: *const c_char; pc) -> c_int {
        let call = real!(puts: unsafe extern "C-unwind" fn(*const c_char) -> c_int);
        match enter() {
            Some(mut inside) => on_stream(&mut inside, pc, stdout, |inside| {
                inside.point();
                super::super::read(inside, line.cast(), text(line), pc);
                call(line)
            }),
            None => call(line),
        }
    }

    fn getdelim(out: *mut *mut c_char, room: *mut size_t, delimiter: c_int, stream: *mut FILE; pc) -> ssize_t {
        match enter() {
            Some(mut inside) if !out.is_null() && !room.is_null() => {
                on_stream(&mut inside, pc, stream, |inside| delimited(inside, pc, out, room, delimiter, stream))
            }
            _ => real!(getdelim: Delim)(out, room, delimiter, stream),
        }
    }

    fn __getdelim(out: *mut *mut c_char, room: *mut size_t, delimiter: c_int, stream: *mut FILE; pc) -> ssize_t {
        getdelim::body(out, room, delimiter, stream, pc)
    }

    fn getline(out: *mut *mut c_char, room: *mut size_t, stream: *mut FILE; pc) -> ssize_t {
        getdelim::body(out, room, b'\n'.into(), stream, pc)
    }

    fn getchar(; pc) -> c_int {
        getc::body(stdin, pc)
    }

    fn flockfile(stream: *mut FILE; pc) {
        match enter() {
            Some(mut inside) => {
                locks::lock(&mut inside, pc, stream as u64, libc::PTHREAD_MUTEX_RECURSIVE, Deadline::Never);
            }
            None => real!(flockfile: unsafe extern "C-unwind" fn(*mut FILE))(stream),
        }
    }

    fn ftrylockfile(stream: *mut FILE; pc) -> c_int {
        match enter() {
            Some(mut inside) => locks::lock(&mut inside, pc, stream as u64, libc::PTHREAD_MUTEX_RECURSIVE, Deadline::Now),
            None => real!(ftrylockfile: unsafe extern "C-unwind" fn(*mut FILE) -> c_int)(stream),
        }
    }

    fn funlockfile(stream: *mut FILE; pc) {
        match enter() {
            Some(mut inside) => {
                locks::unlock(&mut inside, pc, stream as u64, true);
            }
            None => real!(funlockfile: unsafe extern "C-unwind" fn(*mut FILE))(stream),
        }
    }
}

macro_rules! characters {
    ($($get:ident $put:ident;)*) => {
        interpose! {$(
            fn $get(stream: *mut FILE; pc) -> c_int {
                let call = real!($get: unsafe extern "C-unwind" fn(*mut FILE) -> c_int);
                match enter() {
                    Some(mut inside) => on_stream(&mut inside, pc, stream, |inside| {
                        if await_input(inside, pc, stream) { call(stream) } else { libc::EOF }
                    }),
                    None => call(stream),
                }
            }

            fn $put(byte: c_int, stream: *mut FILE; pc) -> c_int {
                let call = real!($put: unsafe extern "C-unwind" fn(c_int, *mut FILE) -> c_int);
                match enter() {
                    Some(mut inside) => on_stream(&mut inside, pc, stream, |inside| {
                        sends(inside, pc, stream, 1);
                        call(byte, stream)
                    }),
                    None => call(byte, stream),
                }
            }
        )*}
    };
}

characters! {
    getc putc;
    fgetc fputc;
}

/// Calls that only must not be interrupted by a hand-over.
macro_rules! whole {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        interpose! {$(
            fn $name($($arg: $ty),*; pc) -> $ret {
                let _inside = enter();
                real!($name: unsafe extern "C-unwind" fn($($ty),*) -> $ret)($($arg),*)
            }
        )*}
    };
}

whole! {
    fn putchar(byte: c_int) -> c_int;
    fn fflush(stream: *mut FILE) -> c_int;
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE;
    fn fdopen(descriptor: c_int, mode: *const c_char) -> *mut FILE;
    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE;
    fn fclose(stream: *mut FILE) -> c_int;
    fn perror(prefix: *const c_char) -> ();
}
