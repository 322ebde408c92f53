//! The other end of a descriptor while a recorded run is repeated: what came from there is played back, so that nothing
//! depends on when it comes now. Whoever is there all the same (the clients of a server that a script starts, another
//! process) is given what is sent and relieved of what it sends, and waited for a while: its run is part of what people
//! see.

use super::{conductor, system};
use libc::{c_int, iovec, pollfd, ssize_t};
use reweave_conductor::sys;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long somebody is waited for at one call, in nanoseconds, and how long once that was in vain: then it goes its
/// own way.
const PATIENCE: u64 = 2_000_000_000;
const IMPATIENCE: u64 = 2_000_000;
static PATIENT: AtomicU64 = AtomicU64::new(PATIENCE);

/// Numbers of descriptors that programs hardly come to.
const FAR: usize = 700;

/// What a call on a descriptor came to in the recorded run.
pub enum RecordedReturn {
    Failed(c_int),
    Gave(&'static [u8]),
}

impl RecordedReturn {
    /// `None`: not all of it was recorded.
    pub fn of((value, bytes): (i64, &'static [u8])) -> Option<Self> {
        match value {
            ..-1 => Some(Self::Failed(-value as c_int)),
            // Older recordings do not say why it failed.
            -1 => None,
            0.. => (bytes.len() as i64 == value).then_some(Self::Gave(bytes)),
        }
    }
}

/// The first `len` bytes of the program's buffers.
pub fn gather(len: ssize_t, parts: &[iovec], into: &mut Vec<u8>) {
    for part in parts {
        let left = len.max(0) as usize - into.len();
        // SAFETY: just filled by the kernel.
        let bytes = unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), left.min(part.iov_len)) };
        into.extend_from_slice(bytes);
    }
}

pub fn scatter(mut bytes: &[u8], parts: &[iovec]) {
    for part in parts {
        let (here, rest) = bytes.split_at(bytes.len().min(part.iov_len));
        // SAFETY: the program's own buffer has room.
        unsafe { std::ptr::copy_nonoverlapping(here.as_ptr(), part.iov_base.cast(), here.len()) };
        bytes = rest;
    }
}

fn poll(descriptor: c_int, events: i16, nanoseconds: u64) -> i16 {
    let mut one = pollfd { fd: descriptor, events, revents: 0 };
    let span =
        libc::timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as i64 };
    // SAFETY: ppoll on local structures.
    unsafe { system::raw(271, [&raw mut one as usize, 1, &raw const span as usize, 0, 8, 0]) };
    one.revents
}

/// Whether a call would not block, and has not lost its partner.
pub fn is_ready(descriptor: c_int, events: i16) -> bool {
    poll(descriptor, events, 0) & (events | libc::POLLERR | libc::POLLHUP) == events
}

/// The watchdog must not take the holder for a thread that is stuck.
fn say_waiting(waits: bool) {
    if let Some(conductor) = conductor() {
        conductor.awaits_outside.set(waits);
    }
}

/// Waits for whoever is to make the descriptor ready, for a while.
pub fn await_partner(descriptor: c_int, events: i16) {
    if poll(descriptor, events, 0) != 0 {
        return;
    }
    say_waiting(true);
    let until = sys::monotonic_now() + PATIENT.load(Ordering::Relaxed);
    let mut came = false;
    // A signal may cut it short.
    while !came && sys::monotonic_now() < until {
        came = poll(descriptor, events, until.saturating_sub(sys::monotonic_now())) != 0;
    }
    say_waiting(false);
    if !came {
        PATIENT.store(IMPATIENCE, Ordering::Relaxed);
    }
}

/// Takes as many bytes as the recorded run did from whoever sends them.
pub fn take(descriptor: c_int, mut size: usize) {
    let mut scratch = [0u8; 4096];
    if !is_stream(descriptor) {
        await_partner(descriptor, libc::POLLIN);
        let flags = (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as usize;
        // SAFETY: recvfrom into a local buffer: one message, whatever its size.
        unsafe { system::raw(45, [descriptor as usize, scratch.as_mut_ptr() as usize, scratch.len(), flags, 0, 0]) };
        return;
    }
    while size > 0 {
        await_partner(descriptor, libc::POLLIN);
        if poll(descriptor, libc::POLLIN, 0) & libc::POLLIN == 0 {
            break;
        }
        let most = size.min(scratch.len());
        // SAFETY: read into a local buffer.
        let got = unsafe { system::raw(0, [descriptor as usize, scratch.as_mut_ptr() as usize, most, 0, 0, 0]) };
        if got <= 0 {
            break;
        }
        size -= got as usize;
    }
}

/// What a socket is made of; `None`: it is none.
fn socket_type(descriptor: c_int) -> Option<c_int> {
    let (mut kind, mut length): (c_int, u32) = (0, 4);
    let out = [&raw mut kind as usize, &raw mut length as usize];
    // SAFETY: getsockopt on local words.
    let status = unsafe {
        let which = [libc::SOL_SOCKET as usize, libc::SO_TYPE as usize];
        system::raw(55, [descriptor as usize, which[0], which[1], out[0], out[1], 0])
    };
    (status == 0).then_some(kind)
}

/// Whether it does not matter in which pieces bytes go through.
fn is_stream(descriptor: c_int) -> bool {
    socket_type(descriptor).is_none_or(|kind| kind == libc::SOCK_STREAM)
}

/// Gives whoever is there what the recorded run gave: `size` bytes. Nobody must be there, and nobody can make us wait
/// for ever.
pub fn give(descriptor: c_int, size: usize, call: impl FnOnce() -> ssize_t, parts: &[iovec]) {
    let is_socket = match socket_type(descriptor) {
        Some(kind) if kind != libc::SOCK_STREAM => {
            await_partner(descriptor, libc::POLLOUT);
            if is_ready(descriptor, libc::POLLOUT) {
                call();
            }
            return;
        }
        kind => kind.is_some(),
    };
    let flags = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as usize;
    let mut left = size;
    for part in parts {
        let here = left.min(part.iov_len);
        left -= here;
        let mut done = 0;
        while done < here {
            await_partner(descriptor, libc::POLLOUT);
            if !is_ready(descriptor, libc::POLLOUT) {
                return;
            }
            // A pipe that is ready has room for so much.
            let (from, most) = (part.iov_base as usize + done, (here - done).min(4096));
            // SAFETY: the program's own bytes, by sendto or write.
            let put = unsafe {
                match is_socket {
                    true => system::raw(44, [descriptor as usize, from, most, flags, 0, 0]),
                    false => system::raw(1, [descriptor as usize, from, most, 0, 0, 0]),
                }
            };
            if put <= 0 {
                return;
            }
            done += put as usize;
        }
    }
}

/// A line with nobody at its other end: what is done with it is played back. Negative: there are too many already.
pub fn dead_line() -> c_int {
    let mut ends = [-1 as c_int; 2];
    // SAFETY: socketpair on a local array; the descriptors are ours.
    unsafe {
        let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as usize;
        if system::raw(53, [libc::AF_UNIX as usize, kind, 0, ends.as_mut_ptr() as usize, 0, 0]) < 0 {
            return -1;
        }
        system::raw(72, [ends[1] as usize, libc::F_DUPFD_CLOEXEC as usize, FAR, 0, 0, 0]);
        system::close(ends[1]);
    }
    ends[0]
}

/// Calls a socket that listens, since nobody else does: the line is of the same kind, and as open as the recorded one
/// was. False: that did not work.
pub fn call_up(listens: c_int) -> bool {
    let mut address = [0u64; 16];
    let mut length = size_of_val(&address) as u32;
    // SAFETY: raw calls on local structures; the new descriptor is ours.
    unsafe {
        let at = [address.as_mut_ptr() as usize, &raw mut length as usize];
        if system::raw(51, [listens as usize, at[0], at[1], 0, 0, 0]) < 0 {
            return false;
        }
        // It begins with its family.
        let family = address[0] as u16;
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let near = system::raw(41, [family.into(), kind as usize, 0, 0, 0, 0]);
        if near < 0 {
            return false;
        }
        let far = system::raw(72, [near as usize, libc::F_DUPFD_CLOEXEC as usize, FAR, 0, 0, 0]);
        system::close(near as c_int);
        let called = system::raw(42, [far as usize, at[0], length as usize, 0, 0, 0]);
        far >= 0 && (called == 0 || called == -(libc::EINPROGRESS as isize))
    }
}

/// Gives a connection the number that it had in the recorded run, if that is free.
pub fn renumber(real: c_int, number: c_int, flags: c_int) -> c_int {
    // SAFETY: descriptors that only we know so far.
    unsafe {
        let free = system::raw(72, [number as usize, libc::F_GETFD as usize, 0, 0, 0, 0]) < 0;
        if real == number || !free {
            return real;
        }
        let close_on_exec = flags & libc::SOCK_CLOEXEC;
        if system::raw(292, [real as usize, number as usize, close_on_exec as usize, 0, 0, 0]) < 0 {
            return real;
        }
        system::close(real);
        number
    }
}
