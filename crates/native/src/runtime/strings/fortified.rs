//! The variants that check the room at the destination. What would overflow is left to libc, which ends the program.

use super::bytes::{copy, fill};
use super::copies::{append, append_some, copy_padded, copy_text};
use super::searches::{strlen, strnlen};
use libc::c_int;

strings! {
    fn __memcpy_chk(to: *mut u8, from: *const u8, size: usize, room: usize; inside, pc) -> *mut u8 {
        if size > room {
            return real()(to, from, size, room);
        }
        copy(inside, to, from, size, pc);
        to
    }

    fn __memmove_chk(to: *mut u8, from: *const u8, size: usize, room: usize; inside, pc) -> *mut u8 {
        if size > room {
            return real()(to, from, size, room);
        }
        copy(inside, to, from, size, pc);
        to
    }

    fn __mempcpy_chk(to: *mut u8, from: *const u8, size: usize, room: usize; inside, pc) -> *mut u8 {
        if size > room {
            return real()(to, from, size, room);
        }
        copy(inside, to, from, size, pc);
        to.wrapping_add(size)
    }

    fn __memset_chk(to: *mut u8, byte: c_int, size: usize, room: usize; inside, pc) -> *mut u8 {
        if size > room {
            return real()(to, byte, size, room);
        }
        fill(inside, to, byte, size, pc);
        to
    }

    fn __explicit_bzero_chk(to: *mut u8, size: usize, room: usize; inside, pc) -> () {
        if size > room {
            return real()(to, size, room);
        }
        fill(inside, to, 0, size, pc);
    }

    fn __strcpy_chk(to: *mut u8, from: *const u8, room: usize; inside, pc) -> *mut u8 {
        inside.point();
        if strlen::real()(from) >= room {
            return real()(to, from, room);
        }
        copy_text(inside, to, from, pc);
        to
    }

    fn __stpcpy_chk(to: *mut u8, from: *const u8, room: usize; inside, pc) -> *mut u8 {
        inside.point();
        if strlen::real()(from) >= room {
            return real()(to, from, room);
        }
        to.wrapping_add(copy_text(inside, to, from, pc))
    }

    fn __strncpy_chk(to: *mut u8, from: *const u8, size: usize, room: usize; inside, pc) -> *mut u8 {
        if size > room {
            return real()(to, from, size, room);
        }
        copy_padded(inside, to, from, size, pc);
        to
    }

    fn __stpncpy_chk(to: *mut u8, from: *const u8, size: usize, room: usize; inside, pc) -> *mut u8 {
        if size > room {
            return real()(to, from, size, room);
        }
        to.wrapping_add(copy_padded(inside, to, from, size, pc))
    }

    fn __strcat_chk(to: *mut u8, from: *const u8, room: usize; inside, pc) -> *mut u8 {
        inside.point();
        if strlen::real()(to) + strlen::real()(from) >= room {
            return real()(to, from, room);
        }
        append(inside, to, from, pc);
        to
    }

    fn __strncat_chk(to: *mut u8, from: *const u8, limit: usize, room: usize; inside, pc) -> *mut u8 {
        inside.point();
        if strlen::real()(to) + strnlen::real()(from, limit) >= room {
            return real()(to, from, limit, room);
        }
        append_some(inside, to, from, limit, pc);
        to
    }
}
