//! What the system says of files, sockets and the process.

use super::{enter, ranges, text};
use crate::runtime::{memory, strings, system};
use libc::{c_char, c_int, rlimit, size_t, ssize_t, stat as Stat, utsname};

const STAT: usize = size_of::<Stat>();

/// `size` bytes if the call succeeded.
fn done(status: c_int, size: usize) -> usize {
    if status == 0 { size } else { 0 }
}

fills! {
    fn stat(path: *const c_char, to: *mut Stat) -> c_int: reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn stat64(path: *const c_char, to: *mut Stat) -> c_int: reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn lstat(path: *const c_char, to: *mut Stat) -> c_int: reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn lstat64(path: *const c_char, to: *mut Stat) -> c_int: reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn fstat(file: c_int, to: *mut Stat) -> c_int: reads [] then |status| [to => done(status, STAT)];
    fn fstat64(file: c_int, to: *mut Stat) -> c_int: reads [] then |status| [to => done(status, STAT)];
    fn fstatat(folder: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int:
        reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn fstatat64(folder: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int:
        reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn __xstat(version: c_int, path: *const c_char, to: *mut Stat) -> c_int:
        reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn __xstat64(version: c_int, path: *const c_char, to: *mut Stat) -> c_int:
        reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn __lxstat(version: c_int, path: *const c_char, to: *mut Stat) -> c_int:
        reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn __lxstat64(version: c_int, path: *const c_char, to: *mut Stat) -> c_int:
        reads [path => text(path)] then |status| [to => done(status, STAT)];
    fn __fxstat(version: c_int, file: c_int, to: *mut Stat) -> c_int: reads [] then |status| [to => done(status, STAT)];
    fn __fxstat64(version: c_int, file: c_int, to: *mut Stat) -> c_int: reads [] then |status| [to => done(status, STAT)];
    fn readlink(path: *const c_char, to: *mut c_char, room: size_t) -> ssize_t:
        reads [path => text(path)] then |length| [to => length.max(0) as usize];
    fn getrlimit(resource: c_int, to: *mut rlimit) -> c_int:
        reads [] then |status| [to => done(status, size_of::<rlimit>())];
    fn getrlimit64(resource: c_int, to: *mut rlimit) -> c_int:
        reads [] then |status| [to => done(status, size_of::<rlimit>())];
    fn uname(to: *mut utsname) -> c_int: reads [] then |status| [to => done(status, size_of::<utsname>())];
    fn gethostname(to: *mut c_char, room: size_t) -> c_int:
        reads [] then |status| [to => if status == 0 { strings::strnlen::real()(to.cast(), room) } else { 0 }];
    fn clock_getres(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int:
        reads [] then |status| [to => done(status, size_of::<libc::timespec>())];
}

/// Gives the program a path that was made in a buffer of ours: in its own buffer, or in a block that the trace knows.
unsafe fn give(inside: &mut super::super::Inside, path: &[u8], to: *mut c_char, pc: u64) -> *mut c_char {
    let to = if to.is_null() {
        // SAFETY: a plain allocation, recorded as the program's own.
        inside.call_back(|| unsafe { memory::malloc::body(path.len(), pc) }).cast()
    } else {
        to
    };
    if !to.is_null() {
        // SAFETY: the buffer is large enough, by the call's contract.
        unsafe { strings::memmove::real()(to.cast(), path.as_ptr(), path.len()) };
        ranges::wrote(inside, to.cast(), path.len(), pc);
    }
    to
}

const LONGEST: usize = libc::PATH_MAX as usize;

interpose! {
    fn realpath(path: *const c_char, to: *mut c_char; pc) -> *mut c_char {
        let call = real!(realpath: unsafe extern "C-unwind" fn(*const c_char, *mut c_char) -> *mut c_char);
        let Some(mut inside) = enter() else { return call(path, to) };
        inside.point();
        super::super::read(&mut inside, path.cast(), text(path), pc);
        let mut found = [0u8; LONGEST];
        if call(path, found.as_mut_ptr().cast()).is_null() {
            return std::ptr::null_mut();
        }
        let size = text(found.as_ptr().cast());
        give(&mut inside, &found[..size], to, pc)
    }

    fn getcwd(to: *mut c_char, room: size_t; pc) -> *mut c_char {
        let call = real!(getcwd: unsafe extern "C-unwind" fn(*mut c_char, size_t) -> *mut c_char);
        let Some(mut inside) = enter() else { return call(to, room) };
        inside.point();
        let mut found = [0u8; LONGEST];
        if call(found.as_mut_ptr().cast(), LONGEST).is_null() {
            return std::ptr::null_mut();
        }
        let size = text(found.as_ptr().cast());
        if size > room && (room > 0 || !to.is_null()) {
            system::set_errno(if room == 0 { libc::EINVAL } else { libc::ERANGE });
            return std::ptr::null_mut();
        }
        give(&mut inside, &found[..size], to, pc)
    }
}
