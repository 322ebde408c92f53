//! Pipes, sockets, files, polls: calls that wait for a descriptor wait in the scheduler, not in the kernel, so that a
//! pipe between two threads of the program is as deterministic as a lock.

use super::channels::{self, NETWORK, channel, inode};
use super::{Inside, conductor, enter, ranges, signals, system, threads, time};
use libc::{
    c_int, c_long, c_void, epoll_event, fd_set, iovec, msghdr, nfds_t, off_t, pollfd, sigset_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec, timeval,
};
use reweave_conductor::policy::replay::Waited as Recorded;
use reweave_conductor::thread::NEVER;
use reweave_conductor::{Deadline, Thread, Wakeup};
use reweave_model::{BlockedOn, InputSource, ObjectId, Op, RefusedWhy};
use std::mem::zeroed;

/// Asks the kernel which descriptor waits could go on.
pub fn poll_waiters(waiters: &mut [&mut Thread], timeout: u64) {
    let mut all: Vec<pollfd> = Vec::new();
    for thread in waiters.iter() {
        // SAFETY: the waiting thread's own array, which lives while it waits.
        let own = unsafe { std::slice::from_raw_parts(thread.object as *const pollfd, thread.second as usize) };
        all.extend(own.iter().map(|one| pollfd { revents: 0, ..*one }));
    }
    let span = timespec { tv_sec: (timeout / 1_000_000_000) as i64, tv_nsec: (timeout % 1_000_000_000) as i64 };
    // SAFETY: ppoll on a local array.
    unsafe { system::raw(271, [all.as_mut_ptr() as usize, all.len(), &raw const span as usize, 0, 8, 0]) };
    let mut at = 0;
    for thread in waiters {
        let count = thread.second as usize;
        thread.descriptor_ready = all[at..at + count].iter().any(|one| one.revents != 0);
        at += count;
    }
}

enum Waited {
    Ready,
    TimedOut,
    Interrupted,
}

/// Waits until one of the descriptors is ready.
fn wait(inside: &mut Inside, pc: u64, set: &mut [pollfd], deadline: Deadline) -> Waited {
    let conductor = conductor();
    conductor.sync_point(inside.thread);
    inside.thread.object = set.as_mut_ptr() as u64;
    inside.thread.second = set.len() as u64;
    poll_waiters(&mut [&mut *inside.thread], 0);
    let mut outcome = Waited::Ready;
    // A replay waits where the recorded run did, and looks as if it had not where that did not: whoever makes the descriptor
    // ready may be another process.
    let recorded = conductor.recorded_wait(inside.thread);
    let ready = inside.thread.descriptor_ready && matches!(recorded, None | Some(Recorded::Not));
    if !ready && deadline != Deadline::Now {
        let object = ObjectId(set.first().map_or(0, |one| one.fd as u64));
        if recorded != Some(Recorded::Not) {
            conductor.step(inside.thread, pc, Op::Blocked { on: BlockedOn::Descriptor, object });
        }
        let deadline = match (recorded, deadline) {
            (Some(Recorded::Not | Recorded::ForIt), Deadline::At(time)) => {
                inside.thread.put_aside = time;
                Deadline::Never
            }
            _ => deadline,
        };
        inside.thread.interruptible = true;
        outcome = loop {
            match conductor.block(inside.thread, BlockedOn::Descriptor, set.as_mut_ptr() as u64, deadline) {
                Wakeup::Granted => break Waited::Ready,
                Wakeup::TimedOut => break Waited::TimedOut,
                Wakeup::Signalled => {
                    let restart = signals::restarts(&inside.thread.signals);
                    signals::deliver(inside.thread);
                    if !restart {
                        break Waited::Interrupted;
                    }
                }
                Wakeup::Cancelled => {
                    inside.outside(threads::cancel_point);
                    break Waited::Interrupted;
                }
            }
        };
        inside.thread.interruptible = false;
        inside.thread.put_aside = NEVER;
        let why = match outcome {
            Waited::Ready => None,
            Waited::TimedOut => Some(RefusedWhy::TimedOut),
            Waited::Interrupted => Some(RefusedWhy::Interrupted),
        };
        if let Some(why) = why {
            conductor.point(inside.thread);
            conductor.step(inside.thread, pc, Op::Refused { object, on: BlockedOn::Descriptor, why });
        }
    }
    inside.thread.second = 0;
    outcome
}

/// Waits until a call on one descriptor would not block. False: interrupted, errno is set.
pub fn ready(inside: &mut Inside, pc: u64, descriptor: c_int, events: i16) -> bool {
    // SAFETY: asks for the flags.
    let flags = unsafe { system::raw(72, [descriptor as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) };
    if flags < 0 || flags as c_int & libc::O_NONBLOCK != 0 {
        conductor().sync_point(inside.thread);
        return true;
    }
    let mut set = [pollfd { fd: descriptor, events, revents: 0 }];
    let deadline = socket_timeout(descriptor, events).map_or(Deadline::Never, |span| time::after(inside.thread, span));
    let errno = match wait(inside, pc, &mut set, deadline) {
        Waited::Ready => return true,
        Waited::Interrupted => libc::EINTR,
        Waited::TimedOut => libc::EAGAIN,
    };
    system::set_errno(errno);
    false
}

/// How long a call on this socket may wait (SO_RCVTIMEO, SO_SNDTIMEO), in nanoseconds.
fn socket_timeout(descriptor: c_int, events: i16) -> Option<u64> {
    let option = if events == libc::POLLIN { libc::SO_RCVTIMEO } else { libc::SO_SNDTIMEO };
    // SAFETY: getsockopt on local structures; it fails on what is no socket.
    unsafe {
        let mut span: timeval = zeroed();
        let mut len = size_of::<timeval>() as socklen_t;
        let out = [&raw mut span as usize, &raw mut len as usize];
        let status =
            system::raw(55, [descriptor as usize, libc::SOL_SOCKET as usize, option as usize, out[0], out[1], 0]);
        let nanoseconds = span.tv_sec as u64 * 1_000_000_000 + span.tv_usec as u64 * 1000;
        (status == 0 && nanoseconds > 0).then_some(nanoseconds)
    }
}

/// The first `len` bytes of the program's buffers.
fn gather(len: ssize_t, parts: &[iovec], into: &mut Vec<u8>) {
    for part in parts {
        let left = len.max(0) as usize - into.len();
        // SAFETY: just filled by the kernel.
        let bytes = unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), left.min(part.iov_len)) };
        into.extend_from_slice(bytes);
    }
}

fn scatter(mut bytes: &[u8], parts: &[iovec]) {
    for part in parts {
        let (here, rest) = bytes.split_at(bytes.len().min(part.iov_len));
        // SAFETY: the program's own buffer has room.
        unsafe { std::ptr::copy_nonoverlapping(here.as_ptr(), part.iov_base.cast(), here.len()) };
        bytes = rest;
    }
}

/// A call that takes bytes out of a descriptor; `parts` tells where they went.
fn receiving(
    inside: &mut Inside,
    pc: u64,
    descriptor: c_int,
    call: impl FnOnce() -> ssize_t,
    parts: &[iovec],
) -> ssize_t {
    if !ready(inside, pc, descriptor, libc::POLLIN) {
        return -1;
    }
    // Bytes are recorded in the order in which they were taken: nobody comes between the call and its events.
    inside.thread.no_preempt += 1;
    let mut got = call();
    let errno = system::errno();
    let recorded = conductor().recorded_input(inside.thread, InputSource::Read);
    let mut bytes = Vec::new();
    if inode(descriptor).is_some_and(|(_, kind)| kind == libc::S_IFCHR) {
        // A device (random numbers, a terminal) gives something else every time: its bytes are kept and played back.
        if let Some((value, recorded)) = recorded {
            got = value as ssize_t;
            scatter(recorded, parts);
        }
        gather(got, parts, &mut bytes);
    }
    conductor().step(inside.thread, pc, Op::Input { source: InputSource::Read, value: got as i64, bytes: &bytes });
    if got >= 0 {
        if let Some((_, channel)) = channel(descriptor) {
            let size = channels::is_stream(channel).then_some(got as u64);
            conductor().receive(inside.thread, pc, channel, size);
        }
        let mut left = got as usize;
        for part in parts {
            let here = left.min(part.iov_len);
            ranges::wrote(inside.thread, part.iov_base.cast(), here, pc);
            left -= here;
        }
    }
    inside.thread.no_preempt -= 1;
    system::set_errno(errno);
    got
}

/// A call that puts bytes into a descriptor.
fn sending(
    inside: &mut Inside,
    pc: u64,
    descriptor: c_int,
    call: impl FnOnce() -> ssize_t,
    parts: &[iovec],
) -> ssize_t {
    for part in parts {
        ranges::reads(inside.thread, part.iov_base.cast(), part.iov_len, pc);
    }
    if !ready(inside, pc, descriptor, libc::POLLOUT) {
        return -1;
    }
    // The send must be in the trace before anybody can receive it; only its size is known afterwards.
    inside.thread.no_preempt += 1;
    let put = call();
    let errno = system::errno();
    conductor().recorded_input(inside.thread, InputSource::Other);
    conductor().step(inside.thread, pc, Op::Input { source: InputSource::Other, value: put as i64, bytes: &[] });
    if put > 0
        && let Some((channel, _)) = channel(descriptor)
    {
        conductor().send(inside.thread, pc, channel, put as u64);
    }
    inside.thread.no_preempt -= 1;
    system::set_errno(errno);
    put
}

fn part(base: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: base.cast_mut(), iov_len: len }]
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
            Some(mut inside) => receiving(&mut inside, pc, descriptor, || read(descriptor, buffer, size), &part(buffer, size)),
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
            Some(mut inside) => sending(&mut inside, pc, descriptor, || write(descriptor, buffer, size), &part(buffer, size)),
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
            Some(mut inside) => receiving(&mut inside, pc, descriptor, || read(descriptor, buffer, size, at), &part(buffer, size)),
            None => read(descriptor, buffer, size, at),
        }
    }

    fn pread64(descriptor: c_int, buffer: *mut c_void, size: size_t, at: off_t; pc) -> ssize_t {
        pread::body(descriptor, buffer, size, at, pc)
    }

    fn pwrite(descriptor: c_int, buffer: *const c_void, size: size_t, at: off_t; pc) -> ssize_t {
        let write = real!(pwrite64: unsafe extern "C-unwind" fn(c_int, *const c_void, size_t, off_t) -> ssize_t);
        match enter() {
            Some(mut inside) => sending(&mut inside, pc, descriptor, || write(descriptor, buffer, size, at), &part(buffer, size)),
            None => write(descriptor, buffer, size, at),
        }
    }

    fn pwrite64(descriptor: c_int, buffer: *const c_void, size: size_t, at: off_t; pc) -> ssize_t {
        pwrite::body(descriptor, buffer, size, at, pc)
    }

    fn readv(descriptor: c_int, parts: *const iovec, count: c_int; pc) -> ssize_t {
        let read = real!(readv: Vector);
        match enter() {
            Some(mut inside) => receiving(&mut inside, pc, descriptor, || read(descriptor, parts, count), slice(parts, count.max(0) as usize)),
            None => read(descriptor, parts, count),
        }
    }

    fn writev(descriptor: c_int, parts: *const iovec, count: c_int; pc) -> ssize_t {
        let write = real!(writev: Vector);
        match enter() {
            Some(mut inside) => sending(&mut inside, pc, descriptor, || write(descriptor, parts, count), slice(parts, count.max(0) as usize)),
            None => write(descriptor, parts, count),
        }
    }

    fn recv(descriptor: c_int, buffer: *mut c_void, size: size_t, flags: c_int; pc) -> ssize_t {
        let receive = real!(recv: Receive);
        match enter() {
            Some(mut inside) if flags & libc::MSG_DONTWAIT == 0 => {
                receiving(&mut inside, pc, descriptor, || receive(descriptor, buffer, size, flags), &part(buffer, size))
            }
            _ => receive(descriptor, buffer, size, flags),
        }
    }

    fn send(descriptor: c_int, buffer: *const c_void, size: size_t, flags: c_int; pc) -> ssize_t {
        let send = real!(send: Send);
        match enter() {
            Some(mut inside) if flags & libc::MSG_DONTWAIT == 0 => {
                sending(&mut inside, pc, descriptor, || send(descriptor, buffer, size, flags), &part(buffer, size))
            }
            _ => send(descriptor, buffer, size, flags),
        }
    }

    fn recvmsg(descriptor: c_int, message: *mut msghdr, flags: c_int; pc) -> ssize_t {
        let receive = real!(recvmsg: Message);
        match enter() {
            Some(mut inside) if flags & libc::MSG_DONTWAIT == 0 => {
                let parts = slice((*message).msg_iov, (*message).msg_iovlen);
                receiving(&mut inside, pc, descriptor, || receive(descriptor, message, flags), parts)
            }
            _ => receive(descriptor, message, flags),
        }
    }

    fn sendmsg(descriptor: c_int, message: *mut msghdr, flags: c_int; pc) -> ssize_t {
        let send = real!(sendmsg: Message);
        match enter() {
            Some(mut inside) if flags & libc::MSG_DONTWAIT == 0 => {
                let parts = slice((*message).msg_iov, (*message).msg_iovlen);
                sending(&mut inside, pc, descriptor, || send(descriptor, message, flags), parts)
            }
            _ => send(descriptor, message, flags),
        }
    }

    fn accept(descriptor: c_int, address: *mut sockaddr, len: *mut socklen_t; pc) -> c_int {
        accept4::body(descriptor, address, len, 0, pc)
    }

    fn accept4(descriptor: c_int, address: *mut sockaddr, len: *mut socklen_t, flags: c_int; pc) -> c_int {
        let accept = real!(accept4: unsafe extern "C-unwind" fn(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int);
        match enter() {
            Some(mut inside) => {
                let result = receiving(&mut inside, pc, descriptor, || accept(descriptor, address, len, flags) as ssize_t, &[]) as c_int;
                if result >= 0 && !len.is_null() {
                    let errno = system::errno();
                    ranges::wrote(inside.thread, len.cast(), 4, pc);
                    ranges::wrote(inside.thread, address.cast(), *len as usize, pc);
                    system::set_errno(errno);
                }
                result
            }
            None => accept(descriptor, address, len, flags),
        }
    }

    fn connect(descriptor: c_int, address: *const sockaddr, len: socklen_t; pc) -> c_int {
        let connect = real!(connect: unsafe extern "C-unwind" fn(c_int, *const sockaddr, socklen_t) -> c_int);
        match enter() {
            Some(mut inside) => {
                conductor().send(inside.thread, pc, NETWORK, 1);
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
        let Some(inside) = enter() else { return pipe(ends, flags) };
        conductor().sync_point(inside.thread);
        let status = pipe(ends, flags);
        if status == 0 {
            channels::pipe_made(*ends);
            ranges::wrote(inside.thread, ends.cast(), 8, pc);
        }
        status
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int; pc) -> c_int {
        let pair = real!(socketpair: unsafe extern "C-unwind" fn(c_int, c_int, c_int, *mut c_int) -> c_int);
        let Some(inside) = enter() else { return pair(domain, kind, protocol, ends) };
        conductor().sync_point(inside.thread);
        let status = pair(domain, kind, protocol, ends);
        if status == 0 {
            channels::pair_made(*ends, *ends.add(1));
            ranges::wrote(inside.thread, ends.cast(), 8, pc);
        }
        status
    }
}

/// Milliseconds as a deadline; negative: never.
fn milliseconds(thread: &Thread, span: c_int) -> Deadline {
    match span {
        0 => Deadline::Now,
        1.. => time::after(thread, span as u64 * 1_000_000),
        _ => Deadline::Never,
    }
}

fn span(thread: &Thread, span: *const timespec) -> Deadline {
    // SAFETY: the program's own argument.
    match unsafe { span.as_ref() } {
        None => Deadline::Never,
        Some(span) => time::after(thread, span.tv_sec as u64 * 1_000_000_000 + span.tv_nsec as u64),
    }
}

/// Waits in the scheduler, then asks the kernel without waiting. The answer is an outside input and orders this thread
/// after whoever made the descriptor ready.
fn polled(
    inside: &mut Inside,
    pc: u64,
    set: &mut [pollfd],
    deadline: Deadline,
    answer: impl FnOnce() -> c_int,
) -> c_int {
    if matches!(wait(inside, pc, set, deadline), Waited::Interrupted) {
        system::set_errno(libc::EINTR);
        return -1;
    }
    let result = answer();
    let errno = system::errno();
    conductor().recorded_input(inside.thread, InputSource::Poll);
    conductor().step(inside.thread, pc, Op::Input { source: InputSource::Poll, value: result.into(), bytes: &[] });
    system::set_errno(errno);
    result
}

fn bits(set: *const fd_set, count: c_int, events: i16, into: &mut Vec<pollfd>) {
    if !set.is_null() {
        // SAFETY: descriptors below FD_SETSIZE, as select demands.
        let members = (0..count.min(1024)).filter(|&fd| unsafe { libc::FD_ISSET(fd, set) });
        into.extend(members.map(|fd| pollfd { fd, events, revents: 0 }));
    }
}

fn copy_of(set: *const fd_set) -> Option<fd_set> {
    // SAFETY: the program's own set.
    unsafe { set.as_ref().copied() }
}

interpose! {
    fn poll(set: *mut pollfd, count: nfds_t, timeout: c_int; pc) -> c_int {
        let poll = real!(poll: unsafe extern "C-unwind" fn(*mut pollfd, nfds_t, c_int) -> c_int);
        match enter() {
            Some(mut inside) => {
                let deadline = milliseconds(inside.thread, timeout);
                let mut own = if set.is_null() { Vec::new() } else { std::slice::from_raw_parts(set, count as usize).to_vec() };
                let result = polled(&mut inside, pc, &mut own, deadline, || poll(set, count, 0));
                ranges::wrote(inside.thread, set.cast(), count as usize * size_of::<pollfd>(), pc);
                result
            }
            None => poll(set, count, timeout),
        }
    }

    fn ppoll(set: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t; pc) -> c_int {
        type Ppoll = unsafe extern "C-unwind" fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t) -> c_int;
        match enter() {
            Some(mut inside) if mask.is_null() => {
                let deadline = span(inside.thread, timeout);
                let mut own = if set.is_null() { Vec::new() } else { std::slice::from_raw_parts(set, count as usize).to_vec() };
                let poll = real!(poll: unsafe extern "C-unwind" fn(*mut pollfd, nfds_t, c_int) -> c_int);
                let result = polled(&mut inside, pc, &mut own, deadline, || poll(set, count, 0));
                ranges::wrote(inside.thread, set.cast(), count as usize * size_of::<pollfd>(), pc);
                result
            }
            // Another signal mask while waiting: only the kernel can do that atomically.
            Some(mut inside) => system::blocking(&mut inside, pc, libc::SYS_ppoll as u32, || real!(ppoll: Ppoll)(set, count, timeout, mask)),
            None => real!(ppoll: Ppoll)(set, count, timeout, mask),
        }
    }

    fn select(count: c_int, reads: *mut fd_set, writes: *mut fd_set, others: *mut fd_set, timeout: *mut timeval; pc) -> c_int {
        type Select = unsafe extern "C-unwind" fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int;
        let select = real!(select: Select);
        match enter() {
            Some(mut inside) => {
                let mut own = Vec::new();
                bits(reads, count, libc::POLLIN, &mut own);
                bits(writes, count, libc::POLLOUT, &mut own);
                bits(others, count, libc::POLLPRI, &mut own);
                let deadline = match timeout.as_ref() {
                    None => Deadline::Never,
                    Some(span) if span.tv_sec == 0 && span.tv_usec == 0 => Deadline::Now,
                    Some(span) => time::after(inside.thread, span.tv_sec as u64 * 1_000_000_000 + span.tv_usec as u64 * 1000),
                };
                let mut zero = timeval { tv_sec: 0, tv_usec: 0 };
                let before = [copy_of(reads), copy_of(writes), copy_of(others)];
                let result = polled(&mut inside, pc, &mut own, deadline, || select(count, reads, writes, others, &raw mut zero));
                for (set, before) in [reads, writes, others].into_iter().zip(before) {
                    if before.is_some() {
                        ranges::wrote(inside.thread, set.cast(), size_of::<fd_set>(), pc);
                    }
                }
                result
            }
            None => select(count, reads, writes, others, timeout),
        }
    }

    fn epoll_wait(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int; pc) -> c_int {
        let wait = real!(epoll_wait: unsafe extern "C-unwind" fn(c_int, *mut epoll_event, c_int, c_int) -> c_int);
        match enter() {
            Some(mut inside) => {
                let deadline = milliseconds(inside.thread, timeout);
                let mut own = [pollfd { fd: epoll, events: libc::POLLIN, revents: 0 }];
                let result = polled(&mut inside, pc, &mut own, deadline, || wait(epoll, events, most, 0));
                if result > 0 {
                    ranges::wrote(inside.thread, events.cast(), result as usize * size_of::<epoll_event>(), pc);
                }
                result
            }
            None => wait(epoll, events, most, timeout),
        }
    }

    fn epoll_pwait(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: *const sigset_t; pc) -> c_int {
        type Wait = unsafe extern "C-unwind" fn(c_int, *mut epoll_event, c_int, c_int, *const sigset_t) -> c_int;
        let wait = real!(epoll_pwait: Wait);
        match enter() {
            Some(inside) if mask.is_null() => {
                drop(inside);
                epoll_wait::body(epoll, events, most, timeout, pc)
            }
            Some(mut inside) => system::blocking(&mut inside, pc, libc::SYS_epoll_pwait as u32, || wait(epoll, events, most, timeout, mask)),
            None => wait(epoll, events, most, timeout, mask),
        }
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
    match enter() {
        Some(mut inside) if flags & libc::MSG_DONTWAIT == 0 => {
            receiving(&mut inside, pc, descriptor, call, &part(buffer, size))
        }
        _ => call(),
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
        Some(mut inside) if flags & libc::MSG_DONTWAIT == 0 => {
            sending(&mut inside, pc, descriptor, call, &part(buffer, size))
        }
        _ => call(),
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
