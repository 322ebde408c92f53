//! Pipes, sockets, files: calls that wait for a descriptor wait in the scheduler, not in the kernel, so that a
//! pipe between two threads of the program is as deterministic as a lock.

use super::channels::{self, NETWORK, channel, inode};
use super::playback::{self, RecordedReturn};
use super::{Inside, Token, ranges, signals, system, threads, time};
use libc::{c_int, iovec, pollfd, sockaddr, socklen_t, ssize_t, timespec, timeval};
use reweave_conductor::policy::replay::RecordedWaitEnd;
use reweave_conductor::thread::{NEVER, RecordedWait};
use reweave_conductor::{Deadline, ExternalWait, Wakeup};
use reweave_model::wire::MAX_PAYLOAD;
use reweave_model::{BlockedOn, InputSource, ObjectId, Op, RefusedWhy};
use std::mem::zeroed;

/// Asks the kernel which descriptor waits could go on.
pub fn poll_waits(waits: &mut [ExternalWait], timeout: u64) {
    let mut all: Vec<pollfd> = Vec::new();
    for wait in waits.iter() {
        // SAFETY: the waiting thread's own array, which lives while it waits.
        let own = unsafe { std::slice::from_raw_parts(wait.object as *const pollfd, wait.second as usize) };
        all.extend(own.iter().map(|one| pollfd { revents: 0, ..*one }));
    }
    let span = timespec { tv_sec: (timeout / 1_000_000_000) as i64, tv_nsec: (timeout % 1_000_000_000) as i64 };
    // SAFETY: ppoll on a local array.
    unsafe { system::raw(271, [all.as_mut_ptr() as usize, all.len(), &raw const span as usize, 0, 8, 0]) };
    let mut at = 0;
    for wait in waits {
        let count = wait.second as usize;
        wait.ready = all[at..at + count].iter().any(|one| one.revents != 0);
        at += count;
    }
}

/// Whether the descriptors that the thread is about to wait for are ready: as the recorded run says, or as the kernel
/// does.
fn is_ready_now(token: &mut Token<'_>) -> bool {
    match token.me().replay.recorded.get() {
        RecordedWait::Ready => true,
        RecordedWait::TimesOut => false,
        RecordedWait::Unknown => {
            let mut wait = [ExternalWait::of(token.me())];
            poll_waits(&mut wait, 0);
            wait[0].ready
        }
    }
}

pub enum WaitResult {
    Ready,
    TimedOut,
    Interrupted,
}

/// When a wait ends at the latest, and by which signals.
#[derive(Clone, Copy)]
pub struct Until {
    pub deadline: Deadline,
    /// Handlers that want it do not end the wait.
    pub restarts: bool,
    /// The signals that are blocked while it lasts, if they are others than before.
    pub mask: Option<u64>,
}

/// Waits until one of the descriptors is ready.
pub fn wait(inside: &mut Inside, pc: u64, set: &mut [pollfd], until: Until) -> WaitResult {
    inside.sync_point();
    inside.me().wait.object.set(set.as_mut_ptr() as u64);
    inside.me().wait.second.set(set.len() as u64);
    // A replay waits where the recorded run did, and looks as if it had not where that did not: whoever makes the
    // descriptor ready may be another process.
    let recorded = inside.recorded_wait();
    let plays = inside.plays_back();
    inside.me().replay.recorded.set(match recorded {
        Some(RecordedWaitEnd::WasReady | RecordedWaitEnd::BecameReady) if plays => RecordedWait::Ready,
        Some(RecordedWaitEnd::TimedOut) if plays => RecordedWait::TimesOut,
        _ => RecordedWait::Unknown,
    });
    let is_ready = is_ready_now(inside);
    inside.me().wait.ready.set(is_ready);
    let mut outcome = WaitResult::Ready;
    let need_not = is_ready && matches!(recorded, None | Some(RecordedWaitEnd::WasReady));
    if !need_not && until.deadline != Deadline::Now {
        outcome = block(inside, pc, set, recorded, until);
    } else if !is_ready && let Some(mask) = until.mask {
        let before = signals::set_mask(mask);
        if end_mask(inside, before) {
            outcome = WaitResult::Interrupted;
        }
    }
    inside.me().wait.second.set(0);
    inside.me().replay.recorded.set(RecordedWait::Unknown);
    outcome
}

/// Runs the handlers of what a mask let in, and puts the one before back: they must not run behind it. Returns whether
/// there were any.
fn end_mask(inside: &mut Inside, before: u64) -> bool {
    let any = !inside.me().interrupts.is_empty();
    signals::deliver(inside);
    signals::set_mask(before);
    any
}

/// Waits in the scheduler.
fn block(
    inside: &mut Inside,
    pc: u64,
    set: &mut [pollfd],
    recorded: Option<RecordedWaitEnd>,
    until: Until,
) -> WaitResult {
    let object = ObjectId(set.first().map_or(0, |one| one.fd as u64));
    if recorded != Some(RecordedWaitEnd::WasReady) {
        inside.step(pc, Op::Blocked { on: BlockedOn::Descriptor, object });
    }
    let deadline = match (recorded, until.deadline) {
        (Some(RecordedWaitEnd::WasReady | RecordedWaitEnd::BecameReady), Deadline::At(time)) => {
            inside.me().replay.put_aside.set(time);
            Deadline::Never
        }
        (_, deadline) => deadline,
    };
    let mask_before = until.mask.map(signals::set_mask);
    inside.me().wait.interruptible.set(true);
    let mut outcome = loop {
        match inside.block(BlockedOn::Descriptor, set.as_mut_ptr() as u64, deadline) {
            Wakeup::Granted => break WaitResult::Ready,
            Wakeup::TimedOut => break WaitResult::TimedOut,
            Wakeup::Interrupted => {
                let restart = until.restarts && signals::restarts(&inside.me().interrupts);
                signals::deliver(inside);
                if !restart {
                    break WaitResult::Interrupted;
                }
            }
            Wakeup::Cancelled => {
                inside.call_back(threads::cancel_point);
                break WaitResult::Interrupted;
            }
        }
    };
    inside.me().wait.interruptible.set(false);
    inside.me().replay.put_aside.set(NEVER);
    if mask_before.is_some_and(|before| end_mask(inside, before)) {
        outcome = WaitResult::Interrupted;
    }
    let why = match outcome {
        WaitResult::Ready => None,
        WaitResult::TimedOut => Some(RefusedWhy::TimedOut),
        WaitResult::Interrupted => Some(RefusedWhy::Interrupted),
    };
    if let Some(why) = why {
        inside.point();
        inside.step(pc, Op::Refused { object, on: BlockedOn::Descriptor, why });
    }
    outcome
}

/// Waits until a call on one descriptor, which the kernel is asked for in any case, would not block. False:
/// interrupted, errno is set.
pub fn really_ready(inside: &mut Inside, pc: u64, descriptor: c_int, events: i16) -> bool {
    let ready = ready(inside, pc, descriptor, events);
    if ready && inside.plays_back() {
        playback::await_partner(descriptor, events);
    }
    ready
}

/// Waits until a call on one descriptor would not block. False: interrupted, errno is set.
fn ready(inside: &mut Inside, pc: u64, descriptor: c_int, events: i16) -> bool {
    // SAFETY: asks for the flags.
    let flags = unsafe { system::raw(72, [descriptor as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) };
    if flags < 0 || flags as c_int & libc::O_NONBLOCK != 0 {
        inside.sync_point();
        return true;
    }
    let mut set = [pollfd { fd: descriptor, events, revents: 0 }];
    let deadline = socket_timeout(descriptor, events).map_or(Deadline::Never, |span| time::after(inside, span));
    let errno = match wait(inside, pc, &mut set, Until { deadline, restarts: true, mask: None }) {
        WaitResult::Ready => return true,
        WaitResult::Interrupted => libc::EINTR,
        WaitResult::TimedOut => libc::EAGAIN,
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
pub enum Carries {
    Bytes,
    More,
}

/// A call that takes bytes out of a descriptor; `parts` says where they went.
pub fn receiving(
    inside: &mut Inside,
    pc: u64,
    descriptor: c_int,
    (flags, carries): (c_int, Carries),
    call: impl FnOnce() -> ssize_t,
    parts: &[iovec],
) -> ssize_t {
    if flags & libc::MSG_DONTWAIT != 0 {
        inside.sync_point();
    } else if !ready(inside, pc, descriptor, libc::POLLIN) {
        return -1;
    }
    // Bytes are recorded in the order in which they were taken: nobody comes between the call and its events.
    inside.forbid_preemption();
    let kind = inode(descriptor).map_or(libc::S_IFREG, |(_, kind)| kind);
    // A device (random numbers, a terminal) gives something else every time, and so does whoever is at the other end:
    // what they give is kept and played back. A file is what it was.
    let (kept, device) = (kind != libc::S_IFREG, kind == libc::S_IFCHR);
    let repeats = kept && inside.plays_back();
    let plays = repeats && carries == Carries::Bytes;
    let recorded = inside.recorded_input(InputSource::Read).filter(|_| plays || device);
    let (got, errno) = match recorded.and_then(RecordedReturn::of) {
        Some(RecordedReturn::Failed(errno)) => (-1, errno),
        Some(RecordedReturn::Gave(bytes)) => {
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
    inside.step(pc, input(InputSource::Read, got, errno, &bytes));
    if got >= 0 {
        if let Some((_, channel)) = channel(inside, descriptor) {
            let size = channels::is_stream(channel).then_some(got as u64);
            inside.receive(pc, channel, size);
        }
        let mut left = got as usize;
        for part in parts {
            let here = left.min(part.iov_len);
            ranges::wrote(inside, part.iov_base.cast(), here, pc);
            left -= here;
        }
    }
    inside.allow_preemption();
    system::set_errno(errno);
    got
}

/// What came of a call, as it is recorded.
pub fn input(source: InputSource, result: ssize_t, errno: c_int, bytes: &[u8]) -> Op<'_> {
    let value = if result < 0 { -i64::from(errno) } else { result as i64 };
    Op::Input { source, value, bytes }
}

/// A call that puts bytes into a descriptor.
pub fn sending(
    inside: &mut Inside,
    pc: u64,
    descriptor: c_int,
    (flags, carries): (c_int, Carries),
    call: impl FnOnce() -> ssize_t,
    parts: &[iovec],
) -> ssize_t {
    for part in parts {
        ranges::reads(inside, part.iov_base.cast(), part.iov_len, pc);
    }
    if flags & libc::MSG_DONTWAIT != 0 {
        inside.sync_point();
    } else if !ready(inside, pc, descriptor, libc::POLLOUT) {
        return -1;
    }
    // The send must be in the trace before anybody can receive it; only its size is known afterwards.
    inside.forbid_preemption();
    // Into files and devices everything is written anew, and what the program says is said again.
    let partner = |(_, kind)| kind != libc::S_IFREG && kind != libc::S_IFCHR;
    let to_others = descriptor > libc::STDERR_FILENO && carries == Carries::Bytes;
    let plays = to_others && inside.plays_back() && inode(descriptor).is_some_and(partner);
    let recorded = inside.recorded_input(InputSource::Other).filter(|_| plays);
    let (put, errno) = match recorded {
        Some((value @ ..=-2, _)) => (-1, -value as c_int),
        Some((value @ 0.., _)) => {
            playback::give(descriptor, value as usize, call, parts);
            (value as ssize_t, 0)
        }
        _ => {
            let put = call();
            (put, system::errno())
        }
    };
    inside.step(pc, input(InputSource::Other, put, errno, &[]));
    if put > 0
        && let Some((channel, _)) = channel(inside, descriptor)
    {
        inside.send(pc, channel, put as u64);
    }
    inside.allow_preemption();
    system::set_errno(errno);
    put
}

/// A call that takes a connection; who made it is said at `address`.
pub fn accepting(
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
    inside.forbid_preemption();
    let plays = inside.plays_back();
    let recorded = inside.recorded_input(InputSource::Read).filter(|_| plays);
    // SAFETY: the program's own arguments: room for so many bytes.
    let room = if address.is_null() || len.is_null() { 0 } else { unsafe { *len as usize } };
    let (got, errno) = match recorded {
        Some((value @ ..=-2, _)) => (-1, -value as c_int),
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
    // SAFETY: the program's own argument.
    let filled = if got < 0 || room == 0 { 0 } else { unsafe { *len as usize }.min(room) };
    // SAFETY: just filled.
    let bytes = if filled == 0 { &[] } else { unsafe { std::slice::from_raw_parts(address.cast(), filled) } };
    inside.step(pc, input(InputSource::Read, got as ssize_t, errno, bytes));
    if got >= 0 {
        inside.receive(pc, NETWORK, None);
    }
    if filled > 0 {
        ranges::wrote(inside, len.cast(), 4, pc);
        ranges::wrote(inside, address.cast(), filled, pc);
    }
    inside.allow_preemption();
    system::set_errno(errno);
    got
}
