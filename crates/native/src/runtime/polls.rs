//! Calls that ask which descriptors are ready: poll, select, epoll. They wait in the scheduler like calls on one
//! descriptor.

use super::descriptors::{Until, WaitResult, input, wait};
use super::{Inside, Token, enter, ranges, system, time};
use libc::{c_int, epoll_event, fd_set, nfds_t, pollfd, sigset_t, ssize_t, timespec, timeval};
use reweave_conductor::Deadline;
use reweave_conductor::objects::AddressMap;
use reweave_guest::Guarded;
use reweave_model::InputSource;
use reweave_model::wire::MAX_PAYLOAD;

/// Milliseconds as a deadline; negative: never.
fn milliseconds(token: &Token<'_>, span: c_int) -> Deadline {
    match span {
        0 => Deadline::Now,
        1.. => time::after(token, span as u64 * 1_000_000),
        _ => Deadline::Never,
    }
}

fn span(token: &Token<'_>, span: *const timespec) -> Deadline {
    // SAFETY: the program's own argument.
    match unsafe { span.as_ref() } {
        None => Deadline::Never,
        Some(span) if span.tv_sec == 0 && span.tv_nsec == 0 => Deadline::Now,
        Some(span) => time::after(token, span.tv_sec as u64 * 1_000_000_000 + span.tv_nsec as u64),
    }
}

/// These calls end whenever a handler has run, whatever it wants.
fn until(deadline: Deadline, mask: *const sigset_t) -> Until {
    // SAFETY: the program's own argument; the kernel's part of a set is its first word.
    let mask = unsafe { mask.cast::<u64>().as_ref() }.copied();
    Until { deadline, restarts: false, mask }
}

/// Waits in the scheduler, then asks the kernel without waiting. The answer is an outside input and orders this thread
/// after whoever made the descriptor ready; `encode` says it in bytes, and `play` gives it again.
fn polled(
    inside: &mut Inside,
    pc: u64,
    set: &mut [pollfd],
    until: Until,
    answer: impl FnOnce() -> c_int,
    encode: impl FnOnce(&mut Token<'_>, c_int) -> Vec<u8>,
    play: impl FnOnce(&mut Token<'_>, i64, &[u8]) -> bool,
) -> c_int {
    if matches!(wait(inside, pc, set, until), WaitResult::Interrupted) {
        system::set_errno(libc::EINTR);
        return -1;
    }
    let plays = inside.plays_back();
    let recorded = inside.recorded_input(InputSource::Poll).filter(|_| plays);
    let (result, errno) = match recorded {
        Some((value @ ..=-2, _)) => (-1, -value as c_int),
        Some((value @ 0.., bytes)) if play(inside, value, bytes) => (value as c_int, 0),
        _ => {
            let result = answer();
            (result, system::errno())
        }
    };
    let mut bytes = if result < 0 { Vec::new() } else { encode(inside, result) };
    if bytes.len() > MAX_PAYLOAD {
        bytes.clear();
    }
    inside.step(pc, input(InputSource::Poll, result as ssize_t, errno, &bytes));
    system::set_errno(errno);
    result
}

/// What the kernel said about each descriptor.
unsafe fn encode_poll(set: *const pollfd, count: nfds_t) -> Vec<u8> {
    // SAFETY: the program's own array.
    let set = unsafe { if set.is_null() { &[] } else { std::slice::from_raw_parts(set, count as usize) } };
    set.iter().flat_map(|one| one.revents.to_le_bytes()).collect()
}

unsafe fn play_poll(set: *mut pollfd, count: nfds_t, bytes: &[u8]) -> bool {
    if bytes.len() != 2 * count as usize {
        return false;
    }
    for (at, said) in bytes.chunks_exact(2).enumerate() {
        // SAFETY: the program's own array.
        unsafe { (*set.add(at)).revents = i16::from_le_bytes([said[0], said[1]]) };
    }
    true
}

/// Bytes of a set with so many descriptors: some programs allocate no more.
fn set_size(count: c_int) -> usize {
    (count.max(0) as usize).div_ceil(64) * 8
}

/// The sets that a select fills, one after the other.
unsafe fn encode_select(count: c_int, sets: [*mut fd_set; 3]) -> Vec<u8> {
    let given = sets.into_iter().filter(|set| !set.is_null());
    // SAFETY: the program's own sets.
    given.flat_map(|set| unsafe { std::slice::from_raw_parts(set.cast::<u8>(), set_size(count)) }.to_vec()).collect()
}

unsafe fn play_select(count: c_int, sets: [*mut fd_set; 3], bytes: &[u8]) -> bool {
    let given = sets.into_iter().filter(|set| !set.is_null());
    let parts = bytes.chunks_exact(set_size(count).max(1));
    if parts.len() != given.clone().count() {
        return false;
    }
    for (set, part) in given.zip(parts) {
        // SAFETY: as large as one.
        unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), set.cast(), part.len()) };
    }
    true
}

/// What the program wants to get with an event: by epoll and watched descriptor. Where a descriptor is closed, it stays
/// until its number comes again.
// SAFETY: for the holder of the token of the one conductor.
static DATA: Guarded<Option<AddressMap<u64>>> = unsafe { Guarded::new(None) };

const fn watched(epoll: c_int, descriptor: c_int) -> u64 {
    (epoll as u32 as u64) << 32 | descriptor as u32 as u64
}

/// Bytes of an event as it is recorded: the descriptor (or -1), what happened to it, and what the program wanted to get
/// with it, which may be an address and then is another one in another run.
const EVENT: usize = 16;

unsafe fn encode_epoll(token: &mut Token<'_>, epoll: c_int, events: *const epoll_event, count: c_int) -> Vec<u8> {
    let data_of = DATA.made(token);
    let mut bytes = Vec::with_capacity(count as usize * EVENT);
    for at in 0..count as usize {
        // SAFETY: just filled.
        let event = unsafe { events.add(at).read_unaligned() };
        let data = event.u64;
        let itself = data as c_int;
        let descriptor = if data_of.get(&watched(epoll, itself)) == Some(&data) {
            itself
        } else {
            let mut own = data_of.iter().filter(|&(key, value)| key >> 32 == epoll as u64 && *value == data);
            own.next().map_or(-1, |(key, _)| *key as c_int)
        };
        bytes.extend_from_slice(&descriptor.to_le_bytes());
        bytes.extend_from_slice(&event.events.to_le_bytes());
        bytes.extend_from_slice(&data.to_le_bytes());
    }
    bytes
}

unsafe fn play_epoll(
    token: &mut Token<'_>,
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    count: i64,
    bytes: &[u8],
) -> bool {
    if count > i64::from(most) || bytes.len() != count as usize * EVENT {
        return false;
    }
    let data_of = DATA.made(token);
    for (at, said) in bytes.chunks_exact(EVENT).enumerate() {
        let (word, data) = said.split_at(8);
        let descriptor = c_int::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let happened = u32::from_le_bytes([word[4], word[5], word[6], word[7]]);
        let data = data.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let data = data_of.get(&watched(epoll, descriptor)).copied().unwrap_or(data);
        // SAFETY: the program's own array has room for `most`.
        unsafe { events.add(at).write_unaligned(epoll_event { events: happened, u64: data }) };
    }
    true
}

type Poll = unsafe extern "C-unwind" fn(*mut pollfd, nfds_t, c_int) -> c_int;

/// A poll that ends so.
///
/// # Safety
/// The program's own array of so many.
unsafe fn poll_until(inside: &mut Inside, pc: u64, set: *mut pollfd, count: nfds_t, until: Until) -> c_int {
    // SAFETY: by the contract.
    unsafe {
        let mut own = if set.is_null() { Vec::new() } else { std::slice::from_raw_parts(set, count as usize).to_vec() };
        let ask = || real!(poll: Poll)(set, count, 0);
        let play = |_: &mut Token<'_>, _, bytes: &[u8]| play_poll(set, count, bytes);
        let result = polled(inside, pc, &mut own, until, ask, |_, _| encode_poll(set, count), play);
        ranges::wrote(inside, set.cast(), count as usize * size_of::<pollfd>(), pc);
        result
    }
}

fn bits(set: *const fd_set, count: c_int, events: i16, into: &mut Vec<pollfd>) {
    if !set.is_null() {
        // SAFETY: descriptors below FD_SETSIZE, as select demands.
        let members = (0..count.min(1024)).filter(|&fd| unsafe { libc::FD_ISSET(fd, set) });
        into.extend(members.map(|fd| pollfd { fd, events, revents: 0 }));
    }
}

type Select = unsafe extern "C-unwind" fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int;

/// A select that ends so.
///
/// # Safety
/// The program's own sets, with room for so many descriptors, or none.
unsafe fn select_until(inside: &mut Inside, pc: u64, count: c_int, sets: [*mut fd_set; 3], until: Until) -> c_int {
    let mut own = Vec::new();
    for (set, events) in sets.into_iter().zip([libc::POLLIN, libc::POLLOUT, libc::POLLPRI]) {
        bits(set, count, events, &mut own);
    }
    let mut zero = timeval { tv_sec: 0, tv_usec: 0 };
    let [reads, writes, others] = sets;
    // SAFETY: by the contract.
    unsafe {
        let ask = || real!(select: Select)(count, reads, writes, others, &raw mut zero);
        let play = |_: &mut Token<'_>, _, bytes: &[u8]| play_select(count, sets, bytes);
        let result = polled(inside, pc, &mut own, until, ask, |_, _| encode_select(count, sets), play);
        for set in sets {
            ranges::wrote(inside, set.cast(), set_size(count), pc);
        }
        result
    }
}

/// An epoll_wait that ends so.
///
/// # Safety
/// The program's own array with room for so many.
unsafe fn epoll_until(
    inside: &mut Inside,
    pc: u64,
    epoll: c_int,
    (events, most): (*mut epoll_event, c_int),
    until: Until,
) -> c_int {
    type Wait = unsafe extern "C-unwind" fn(c_int, *mut epoll_event, c_int, c_int) -> c_int;
    let mut own = [pollfd { fd: epoll, events: libc::POLLIN, revents: 0 }];
    // SAFETY: by the contract.
    unsafe {
        let ask = || real!(epoll_wait: Wait)(epoll, events, most, 0);
        let encode = |token: &mut Token<'_>, count| encode_epoll(token, epoll, events, count);
        let play = |token: &mut Token<'_>, count, bytes: &[u8]| play_epoll(token, epoll, events, most, count, bytes);
        let result = polled(inside, pc, &mut own, until, ask, encode, play);
        if result > 0 {
            ranges::wrote(inside, events.cast(), result as usize * size_of::<epoll_event>(), pc);
        }
        result
    }
}

interpose! {
    fn poll(set: *mut pollfd, count: nfds_t, timeout: c_int; pc) -> c_int {
        match enter() {
            Some(mut inside) => {
                let until = until(milliseconds(&inside, timeout), std::ptr::null());
                poll_until(&mut inside, pc, set, count, until)
            }
            None => real!(poll: Poll)(set, count, timeout),
        }
    }

    fn ppoll(set: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t; pc) -> c_int {
        type Ppoll = unsafe extern "C-unwind" fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t) -> c_int;
        match enter() {
            Some(mut inside) => {
                let until = until(span(&inside, timeout), mask);
                poll_until(&mut inside, pc, set, count, until)
            }
            None => real!(ppoll: Ppoll)(set, count, timeout, mask),
        }
    }

    fn select(count: c_int, reads: *mut fd_set, writes: *mut fd_set, others: *mut fd_set, timeout: *mut timeval; pc) -> c_int {
        match enter() {
            Some(mut inside) => {
                let deadline = match timeout.as_ref() {
                    None => Deadline::Never,
                    Some(span) if span.tv_sec == 0 && span.tv_usec == 0 => Deadline::Now,
                    Some(span) => time::after(&inside, span.tv_sec as u64 * 1_000_000_000 + span.tv_usec as u64 * 1000),
                };
                select_until(&mut inside, pc, count, [reads, writes, others], until(deadline, std::ptr::null()))
            }
            None => real!(select: Select)(count, reads, writes, others, timeout),
        }
    }

    fn epoll_ctl(epoll: c_int, what: c_int, descriptor: c_int, event: *mut epoll_event; pc) -> c_int {
        let control = real!(epoll_ctl: unsafe extern "C-unwind" fn(c_int, c_int, c_int, *mut epoll_event) -> c_int);
        let mut inside = enter();
        let status = control(epoll, what, descriptor, event);
        if let Some(inside) = &mut inside && status == 0 {
            let (errno, key) = (system::errno(), watched(epoll, descriptor));
            if what == libc::EPOLL_CTL_DEL {
                DATA.made(inside).remove(&key);
            } else if !event.is_null() {
                DATA.made(inside).insert(key, event.read_unaligned().u64);
            }
            system::set_errno(errno);
        }
        status
    }

    fn epoll_wait(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int; pc) -> c_int {
        type Wait = unsafe extern "C-unwind" fn(c_int, *mut epoll_event, c_int, c_int) -> c_int;
        match enter() {
            Some(mut inside) => {
                let until = until(milliseconds(&inside, timeout), std::ptr::null());
                epoll_until(&mut inside, pc, epoll, (events, most), until)
            }
            None => real!(epoll_wait: Wait)(epoll, events, most, timeout),
        }
    }

    fn epoll_pwait(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: *const sigset_t; pc) -> c_int {
        type Wait = unsafe extern "C-unwind" fn(c_int, *mut epoll_event, c_int, c_int, *const sigset_t) -> c_int;
        match enter() {
            Some(mut inside) => {
                let until = until(milliseconds(&inside, timeout), mask);
                epoll_until(&mut inside, pc, epoll, (events, most), until)
            }
            None => real!(epoll_pwait: Wait)(epoll, events, most, timeout, mask),
        }
    }
}

type Pselect = unsafe extern "C-unwind" fn(
    c_int,
    *mut fd_set,
    *mut fd_set,
    *mut fd_set,
    *const timespec,
    *const sigset_t,
) -> c_int;

/// # Safety
/// As for libc's pselect.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect() {
    super::tls::pc_in_tls!(pselect_body)
}

unsafe extern "C-unwind" fn pselect_body(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let pc = super::tls::caller_pc();
    // SAFETY: the program's own call.
    unsafe {
        match enter() {
            Some(mut inside) => {
                let until = until(span(&inside, timeout), mask);
                select_until(&mut inside, pc, count, [reads, writes, others], until)
            }
            None => real!(pselect: Pselect)(count, reads, writes, others, timeout, mask),
        }
    }
}
