//! The calls that take bytes out of descriptors, put them in, and make connections: read, write, recv, send, accept,
//! pipe.

use super::channels::{self, NETWORK};
use super::descriptors::{Carries, accepting, receiving, sending};
use super::{enter, ranges, system};
use libc::{c_int, c_long, c_void, iovec, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};

fn part(base: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: base.cast_mut(), iov_len: len }]
}

unsafe fn carries(message: *const msghdr) -> Carries {
    // SAFETY: the program's own message.
    let more = unsafe { !(*message).msg_name.is_null() || !(*message).msg_control.is_null() };
    if more { Carries::More } else { Carries::Bytes }
}

unsafe fn slice<'a>(parts: *const iovec, count: usize) -> &'a [iovec] {
    // SAFETY: the program's own array.
    unsafe { if parts.is_null() { &[] } else { std::slice::from_raw_parts(parts, count) } }
}

type Read = unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t) -> ssize_t;
type Write = unsafe extern "C-unwind" fn(c_int, *const c_void, size_t) -> ssize_t;
type Vector = unsafe extern "C-unwind" fn(c_int, *const iovec, c_int) -> ssize_t;
type Receive = unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t, c_int) -> ssize_t;
type Send = unsafe extern "C-unwind" fn(c_int, *const c_void, size_t, c_int) -> ssize_t;
type Message = unsafe extern "C-unwind" fn(c_int, *mut msghdr, c_int) -> ssize_t;

interpose! {
    fn read(descriptor: c_int, buffer: *mut c_void, size: size_t; pc) -> ssize_t {
        let read = real!(read: Read);
        match enter() {
            Some(mut inside) => receiving(&mut inside, pc, descriptor, (0, Carries::Bytes), || read(descriptor, buffer, size), &part(buffer, size)),
            None => read(descriptor, buffer, size),
        }
    }

    fn __read_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, room: size_t; pc) -> ssize_t {
        if size > room {
            libc::abort();
        }
        read::body(descriptor, buffer, size, pc)
    }

    fn write(descriptor: c_int, buffer: *const c_void, size: size_t; pc) -> ssize_t {
        let write = real!(write: Write);
        match enter() {
            Some(mut inside) => sending(&mut inside, pc, descriptor, (0, Carries::Bytes), || write(descriptor, buffer, size), &part(buffer, size)),
            None => write(descriptor, buffer, size),
        }
    }

    // libc's own go to the kernel directly.
    fn eventfd_write(descriptor: c_int, value: u64; pc) -> c_int {
        if write::body(descriptor, (&raw const value).cast(), size_of::<u64>(), pc) == 8 { 0 } else { -1 }
    }

    fn eventfd_read(descriptor: c_int, value: *mut u64; pc) -> c_int {
        if read::body(descriptor, value.cast(), size_of::<u64>(), pc) == 8 { 0 } else { -1 }
    }

    fn pread(descriptor: c_int, buffer: *mut c_void, size: size_t, at: off_t; pc) -> ssize_t {
        let read = real!(pread64: unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t, off_t) -> ssize_t);
        match enter() {
            Some(mut inside) => receiving(&mut inside, pc, descriptor, (0, Carries::Bytes), || read(descriptor, buffer, size, at), &part(buffer, size)),
            None => read(descriptor, buffer, size, at),
        }
    }

    fn pread64(descriptor: c_int, buffer: *mut c_void, size: size_t, at: off_t; pc) -> ssize_t {
        pread::body(descriptor, buffer, size, at, pc)
    }

    fn pwrite(descriptor: c_int, buffer: *const c_void, size: size_t, at: off_t; pc) -> ssize_t {
        let write = real!(pwrite64: unsafe extern "C-unwind" fn(c_int, *const c_void, size_t, off_t) -> ssize_t);
        match enter() {
            Some(mut inside) => sending(&mut inside, pc, descriptor, (0, Carries::Bytes), || write(descriptor, buffer, size, at), &part(buffer, size)),
            None => write(descriptor, buffer, size, at),
        }
    }

    fn pwrite64(descriptor: c_int, buffer: *const c_void, size: size_t, at: off_t; pc) -> ssize_t {
        pwrite::body(descriptor, buffer, size, at, pc)
    }

    fn readv(descriptor: c_int, parts: *const iovec, count: c_int; pc) -> ssize_t {
        let read = real!(readv: Vector);
        match enter() {
            Some(mut inside) => receiving(&mut inside, pc, descriptor, (0, Carries::Bytes), || read(descriptor, parts, count), slice(parts, count.max(0) as usize)),
            None => read(descriptor, parts, count),
        }
    }

    fn writev(descriptor: c_int, parts: *const iovec, count: c_int; pc) -> ssize_t {
        let write = real!(writev: Vector);
        match enter() {
            Some(mut inside) => sending(&mut inside, pc, descriptor, (0, Carries::Bytes), || write(descriptor, parts, count), slice(parts, count.max(0) as usize)),
            None => write(descriptor, parts, count),
        }
    }

    fn recv(descriptor: c_int, buffer: *mut c_void, size: size_t, flags: c_int; pc) -> ssize_t {
        let receive = real!(recv: Receive);
        match enter() {
            Some(mut inside) => {
                receiving(&mut inside, pc, descriptor, (flags, Carries::Bytes), || receive(descriptor, buffer, size, flags), &part(buffer, size))
            }
            None => receive(descriptor, buffer, size, flags),
        }
    }

    fn send(descriptor: c_int, buffer: *const c_void, size: size_t, flags: c_int; pc) -> ssize_t {
        let send = real!(send: Send);
        match enter() {
            Some(mut inside) => {
                sending(&mut inside, pc, descriptor, (flags, Carries::Bytes), || send(descriptor, buffer, size, flags), &part(buffer, size))
            }
            None => send(descriptor, buffer, size, flags),
        }
    }

    fn recvmsg(descriptor: c_int, message: *mut msghdr, flags: c_int; pc) -> ssize_t {
        let receive = real!(recvmsg: Message);
        match enter() {
            Some(mut inside) => {
                let parts = slice((*message).msg_iov, (*message).msg_iovlen);
                receiving(&mut inside, pc, descriptor, (flags, carries(message)), || receive(descriptor, message, flags), parts)
            }
            None => receive(descriptor, message, flags),
        }
    }

    fn sendmsg(descriptor: c_int, message: *mut msghdr, flags: c_int; pc) -> ssize_t {
        let send = real!(sendmsg: Message);
        match enter() {
            Some(mut inside) => {
                let parts = slice((*message).msg_iov, (*message).msg_iovlen);
                sending(&mut inside, pc, descriptor, (flags, carries(message)), || send(descriptor, message, flags), parts)
            }
            None => send(descriptor, message, flags),
        }
    }

    fn accept(descriptor: c_int, address: *mut sockaddr, len: *mut socklen_t; pc) -> c_int {
        accept4::body(descriptor, address, len, 0, pc)
    }

    fn accept4(descriptor: c_int, address: *mut sockaddr, len: *mut socklen_t, flags: c_int; pc) -> c_int {
        let accept = real!(accept4: unsafe extern "C-unwind" fn(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int);
        match enter() {
            Some(mut inside) => {
                accepting(&mut inside, pc, descriptor, flags, address, len, || accept(descriptor, address, len, flags))
            }
            None => accept(descriptor, address, len, flags),
        }
    }

    fn connect(descriptor: c_int, address: *const sockaddr, len: socklen_t; pc) -> c_int {
        let connect = real!(connect: unsafe extern "C-unwind" fn(c_int, *const sockaddr, socklen_t) -> c_int);
        match enter() {
            Some(mut inside) => {
                inside.send(pc, NETWORK, 1);
                system::blocking(&mut inside, pc, libc::SYS_connect as u32, || connect(descriptor, address, len))
            }
            None => connect(descriptor, address, len),
        }
    }

    fn pipe(ends: *mut c_int; pc) -> c_int {
        pipe2::body(ends, 0, pc)
    }

    fn pipe2(ends: *mut c_int, flags: c_int; pc) -> c_int {
        let pipe = real!(pipe2: unsafe extern "C-unwind" fn(*mut c_int, c_int) -> c_int);
        let Some(mut inside) = enter() else { return pipe(ends, flags) };
        inside.sync_point();
        let status = pipe(ends, flags);
        if status == 0 {
            channels::pipe_made(&mut inside, *ends);
            ranges::wrote(&mut inside, ends.cast(), 8, pc);
        }
        status
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int; pc) -> c_int {
        let pair = real!(socketpair: unsafe extern "C-unwind" fn(c_int, c_int, c_int, *mut c_int) -> c_int);
        let Some(mut inside) = enter() else { return pair(domain, kind, protocol, ends) };
        inside.sync_point();
        let status = pair(domain, kind, protocol, ends);
        if status == 0 {
            channels::pair_made(&mut inside, *ends, *ends.add(1));
            ranges::wrote(&mut inside, ends.cast(), 8, pc);
        }
        status
    }
}

type ReceiveFrom =
    unsafe extern "C-unwind" fn(c_int, *mut c_void, size_t, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t;
type SendTo = unsafe extern "C-unwind" fn(c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t;

/// # Safety
/// As for libc's recvfrom.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom() {
    super::tls::pc_in_tls!(recvfrom_body)
}

unsafe extern "C-unwind" fn recvfrom_body(
    descriptor: c_int,
    buffer: *mut c_void,
    size: size_t,
    flags: c_int,
    from: *mut sockaddr,
    len: *mut socklen_t,
) -> ssize_t {
    let (pc, receive) = (super::tls::caller_pc(), real!(recvfrom: ReceiveFrom));
    // SAFETY: the program's own call.
    let call = || unsafe { receive(descriptor, buffer, size, flags, from, len) };
    let carries = if from.is_null() { Carries::Bytes } else { Carries::More };
    match enter() {
        Some(mut inside) => receiving(&mut inside, pc, descriptor, (flags, carries), call, &part(buffer, size)),
        None => call(),
    }
}

/// # Safety
/// As for libc's sendto.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto() {
    super::tls::pc_in_tls!(sendto_body)
}

unsafe extern "C-unwind" fn sendto_body(
    descriptor: c_int,
    buffer: *const c_void,
    size: size_t,
    flags: c_int,
    to: *const sockaddr,
    len: socklen_t,
) -> ssize_t {
    let (pc, send) = (super::tls::caller_pc(), real!(sendto: SendTo));
    // SAFETY: the program's own call.
    let call = || unsafe { send(descriptor, buffer, size, flags, to, len) };
    match enter() {
        Some(mut inside) => sending(&mut inside, pc, descriptor, (flags, Carries::Bytes), call, &part(buffer, size)),
        None => call(),
    }
}

/// A system call made through `syscall()`. Those that may block do so without the token.
///
/// # Safety
/// As for the system call.
pub unsafe fn other_syscall(number: c_long, arguments: [usize; 6], pc: u64) -> isize {
    const MAY_BLOCK: [c_long; 8] = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_ppoll,
        libc::SYS_poll,
        libc::SYS_epoll_pwait,
        libc::SYS_wait4,
        libc::SYS_futex,
        libc::SYS_io_getevents,
    ];
    // SAFETY: by the contract.
    let call = || unsafe { system::raw(number as usize, arguments) };
    if MAY_BLOCK.contains(&number)
        && let Some(mut inside) = enter()
    {
        return system::blocking(&mut inside, pc, number as u32, || call() as i64) as isize;
    }
    call()
}
