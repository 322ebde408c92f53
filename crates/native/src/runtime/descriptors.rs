//! Pipes, sockets, files: calls that wait for a descriptor wait in the scheduler, not in the kernel, so that a
//! pipe between two threads of the program is as deterministic as a lock.

use super::channels::{self, NETWORK, channel, inode};
use super::playback::{self, Answer};
use super::{Inside, conductor, enter, ranges, signals, system, threads, time};
use libc::{
    c_int, c_long, c_void, iovec, msghdr, off_t, pollfd, size_t, sockaddr, socklen_t, ssize_t, timespec, timeval,
};
use reweave_conductor::policy::replay::Waited as Recorded;
use reweave_conductor::thread::{Foretold, NEVER};
use reweave_conductor::{Deadline, Thread, Wakeup};
use reweave_model::wire::MAX_PAYLOAD;
use reweave_model::{BlockedOn, InputSource, ObjectId, Op, RefusedWhy};
use std::mem::zeroed;

/// Asks the kernel which descriptor waits could go on, those excepted of which a replay knows it.
pub fn poll_waiters(waiters: &mut [&mut Thread], timeout: u64) {
    let mut all: Vec<pollfd> = Vec::new();
    for thread in waiters.iter_mut() {
        if thread.foretold != Foretold::Nothing {
            thread.descriptor_ready = thread.foretold == Foretold::Ready;
            continue;
        }
        // SAFETY: the waiting thread's own array, which lives while it waits.
        let own = unsafe { std::slice::from_raw_parts(thread.object as *const pollfd, thread.second as usize) };
        all.extend(own.iter().map(|one| pollfd { revents: 0, ..*one }));
    }
    let span = timespec { tv_sec: (timeout / 1_000_000_000) as i64, tv_nsec: (timeout % 1_000_000_000) as i64 };
    // SAFETY: ppoll on a local array.
    unsafe { system::raw(271, [all.as_mut_ptr() as usize, all.len(), &raw const span as usize, 0, 8, 0]) };
    let mut at = 0;
    for thread in waiters.iter_mut().filter(|thread| thread.foretold == Foretold::Nothing) {
        let count = thread.second as usize;
        thread.descriptor_ready = all[at..at + count].iter().any(|one| one.revents != 0);
        at += count;
    }
}

pub enum Waited {
    Ready,
    TimedOut,
    Interrupted,
}

/// Waits until one of the descriptors is ready.
pub fn wait(inside: &mut Inside, pc: u64, set: &mut [pollfd], deadline: Deadline) -> Waited {
    let conductor = conductor();
    conductor.sync_point(inside.thread);
    inside.thread.object = set.as_mut_ptr() as u64;
    inside.thread.second = set.len() as u64;
    let mut outcome = Waited::Ready;
    // A replay waits where the recorded run did, and looks as if it had not where that did not: whoever makes the descriptor
    // ready may be another process.
    let recorded = conductor.recorded_wait(inside.thread);
    inside.thread.foretold = match recorded {
        Some(Recorded::Not | Recorded::ForIt) if conductor.plays_back() => Foretold::Ready,
        Some(Recorded::InVain) if conductor.plays_back() => Foretold::TimeRunsOut,
        _ => Foretold::Nothing,
    };
    poll_waiters(&mut [&mut *inside.thread], 0);
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
    inside.thread.foretold = Foretold::Nothing;
    outcome
}

/// Waits until a call on one descriptor, which the kernel is asked for in any case, would not block. False: interrupted, errno is
/// set.
pub fn really_ready(inside: &mut Inside, pc: u64, descriptor: c_int, events: i16) -> bool {
    let ready = ready(inside, pc, descriptor, events);
    if ready && conductor().plays_back() {
        playback::await_partner(descriptor, events);
    }
    ready
}

/// Waits until a call on one descriptor would not block. False: interrupted, errno is set.
fn ready(inside: &mut Inside, pc: u64, descriptor: c_int, events: i16) -> bool {
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

/// What a call deals with beside bytes (addresses, descriptors) is not recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    Bytes,
    More,
}

/// A call that takes bytes out of a descriptor; `parts` tells where they went.
fn receiving(
    inside: &mut Inside,
    pc: u64,
    descriptor: c_int,
    (flags, carries): (c_int, Carries),
    call: impl FnOnce() -> ssize_t,
    parts: &[iovec],
) -> ssize_t {
    if flags & libc::MSG_DONTWAIT != 0 {
        conductor().sync_point(inside.thread);
    } else if !ready(inside, pc, descriptor, libc::POLLIN) {
        return -1;
    }
    // Bytes are recorded in the order in which they were taken: nobody comes between the call and its events.
    inside.thread.no_preempt += 1;
    let kind = inode(descriptor).map_or(libc::S_IFREG, |(_, kind)| kind);
    // A device (random numbers, a terminal) gives something else every time, and so does whoever is at the other end: what
    // they give is kept and played back. A file is what it was.
    let (kept, device) = (kind != libc::S_IFREG, kind == libc::S_IFCHR);
    let repeats = kept && conductor().plays_back();
    let plays = repeats && carries == Carries::Bytes;
    let recorded = conductor().recorded_input(inside.thread, InputSource::Read).filter(|_| plays || device);
    let (got, errno) = match recorded.and_then(Answer::of) {
        Some(Answer::Failed(errno)) => (-1, errno),
        Some(Answer::Gave(bytes)) => {
            if flags & libc::MSG_PEEK == 0 {
                playback::take(descriptor, bytes.len());
            }
            playback::scatter(bytes, parts);
            (bytes.len() as ssize_t, 0)
        }
        None => {
            if repeats {
                playback::await_partner(descriptor, libc::POLLIN);
            }
            let got = call();
            (got, system::errno())
        }
    };
    let mut bytes = Vec::new();
    if kept && got as usize <= MAX_PAYLOAD {
        playback::gather(got, parts, &mut bytes);
    }
    conductor().step(inside.thread, pc, input(InputSource::Read, got, errno, &bytes));
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

/// What came of a call, as it is recorded.
pub fn input(source: InputSource, result: ssize_t, errno: c_int, bytes: &[u8]) -> Op<'_> {
    let value = if result < 0 { -i64::from(errno) } else { result as i64 };
    Op::Input { source, value, bytes }
}

/// A call that puts bytes into a descriptor.
fn sending(
    inside: &mut Inside,
    pc: u64,
    descriptor: c_int,
    (flags, carries): (c_int, Carries),
    call: impl FnOnce() -> ssize_t,
    parts: &[iovec],
) -> ssize_t {
    for part in parts {
        ranges::reads(inside.thread, part.iov_base.cast(), part.iov_len, pc);
    }
    if flags & libc::MSG_DONTWAIT != 0 {
        conductor().sync_point(inside.thread);
    } else if !ready(inside, pc, descriptor, libc::POLLOUT) {
        return -1;
    }
    // The send must be in the trace before anybody can receive it; only its size is known afterwards.
    inside.thread.no_preempt += 1;
    // Into files and devices everything is written anew, and what the program says is said again.
    let partner = |(_, kind)| kind != libc::S_IFREG && kind != libc::S_IFCHR;
    let to_others = descriptor > libc::STDERR_FILENO && carries == Carries::Bytes;
    let plays = to_others && conductor().plays_back() && inode(descriptor).is_some_and(partner);
    let recorded = conductor().recorded_input(inside.thread, InputSource::Other).filter(|_| plays);
    let (put, errno) = match recorded {
        Some((value @ ..-1, _)) => (-1, -value as c_int),
        Some((value @ 0.., _)) => {
            playback::give(descriptor, value as usize, call, parts);
            (value as ssize_t, 0)
        }
        _ => {
            let put = call();
            (put, system::errno())
        }
    };
    conductor().step(inside.thread, pc, input(InputSource::Other, put, errno, &[]));
    if put > 0
        && let Some((channel, _)) = channel(descriptor)
    {
        conductor().send(inside.thread, pc, channel, put as u64);
    }
    inside.thread.no_preempt -= 1;
    system::set_errno(errno);
    put
}

/// A call that takes a connection; who made it is told at `address`.
fn accepting(
    inside: &mut Inside,
    pc: u64,
    descriptor: c_int,
    flags: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if !ready(inside, pc, descriptor, libc::POLLIN) {
        return -1;
    }
    inside.thread.no_preempt += 1;
    let plays = conductor().plays_back();
    let recorded = conductor().recorded_input(inside.thread, InputSource::Read).filter(|_| plays);
    // SAFETY: the program's own arguments: room for so many bytes.
    let room = if address.is_null() || len.is_null() { 0 } else { unsafe { *len as usize } };
    let (got, errno) = match recorded {
        Some((value @ ..-1, _)) => (-1, -value as c_int),
        // Older recordings do not say who made it.
        Some((value @ 0.., bytes)) if room == 0 || !bytes.is_empty() => {
            playback::await_partner(descriptor, libc::POLLIN);
            let comes = playback::is_ready(descriptor, libc::POLLIN) || playback::call_up(descriptor);
            let real = if comes { call() } else { -1 };
            let real = if real < 0 { playback::dead_line() } else { real };
            if room > 0 {
                // SAFETY: as above.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), address.cast(), bytes.len().min(room));
                    *len = bytes.len() as socklen_t;
                }
            }
            (if real < 0 { value as c_int } else { playback::renumber(real, value as c_int, flags) }, 0)
        }
        _ => {
            let got = call();
            (got, system::errno())
        }
    };
    let filled = if got < 0 || room == 0 { 0 } else { unsafe { *len as usize }.min(room) };
    // SAFETY: just filled.
    let bytes = if filled == 0 { &[] } else { unsafe { std::slice::from_raw_parts(address.cast(), filled) } };
    conductor().step(inside.thread, pc, input(InputSource::Read, got as ssize_t, errno, bytes));
    if got >= 0 {
        conductor().receive(inside.thread, pc, NETWORK, None);
    }
    if filled > 0 {
        ranges::wrote(inside.thread, len.cast(), 4, pc);
        ranges::wrote(inside.thread, address.cast(), filled, pc);
    }
    inside.thread.no_preempt -= 1;
    system::set_errno(errno);
    got
}

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
