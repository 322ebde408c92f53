//! Which channel a descriptor belongs to: what is sent into one comes before what is received from it.

use super::{Token, system};
use libc::c_int;
use reweave_conductor::objects::AddressMap;
use reweave_guest::Guarded;
use std::mem::zeroed;

/// All sockets that are not a known pair share one channel: a receive follows every earlier send. Too many edges can
/// hide a finding, never invent one.
pub const NETWORK: u64 = 0x80;

/// Socket pairs made by this process: inode to (send, receive) channel.
// SAFETY: for the holder of the token of the one conductor.
static PAIRS: Guarded<Option<AddressMap<(u64, u64)>>> = unsafe { Guarded::new(None) };

/// Ids of channels through descriptors lie far above user space addresses: one range for what has an inode of its own,
/// one for what is told apart by the number of its descriptor.
const PIPES: u64 = 1 << 56;
const EVENTS: u64 = 1 << 57;

const fn pipe_channel(inode: u64) -> u64 {
    PIPES | inode
}

pub fn inode(descriptor: c_int) -> Option<(u64, libc::mode_t)> {
    // SAFETY: fstat fills the struct.
    unsafe {
        let mut stat: libc::stat = zeroed();
        let status = system::raw(5, [descriptor as usize, &raw mut stat as usize, 0, 0, 0, 0]);
        (status == 0).then_some((stat.st_ino, stat.st_mode & libc::S_IFMT))
    }
}

/// (send, receive) channel of a descriptor, if threads of this process can talk through it.
pub fn channel(token: &mut Token<'_>, descriptor: c_int) -> Option<(u64, u64)> {
    let (inode, kind) = inode(descriptor)?;
    tidy(token);
    let mut made_here = || token.objects().channels.contains_key(&pipe_channel(inode));
    if descriptor <= libc::STDERR_FILENO && kind == libc::S_IFIFO && !made_here() {
        // What the standard streams are connected to is nothing of the program's, and another thing in every run.
        return None;
    }
    channel_of(PAIRS.made(token), descriptor, inode, kind)
}

fn channel_of(pairs: &AddressMap<(u64, u64)>, descriptor: c_int, inode: u64, kind: libc::mode_t) -> Option<(u64, u64)> {
    match kind {
        libc::S_IFIFO => Some((pipe_channel(inode), pipe_channel(inode))),
        libc::S_IFSOCK => Some(pairs.get(&inode).copied().unwrap_or((NETWORK, NETWORK))),
        // eventfd, timerfd, signalfd: no type bits, and one inode for all.
        0 => Some((EVENTS | descriptor as u64, EVENTS | descriptor as u64)),
        _ => None,
    }
}

/// What may be kept about descriptors before somebody looks which of them are still open.
// SAFETY: for the holder of the token of the one conductor.
static ROOM: Guarded<usize> = unsafe { Guarded::new(LEAST_ROOM) };
const LEAST_ROOM: usize = 64;

/// What is kept about descriptors, and a little more that is not worth telling apart.
fn kept(token: &mut Token<'_>) -> usize {
    token.objects().channels.len() + PAIRS.made(token).len()
}

fn tidy(token: &mut Token<'_>) {
    if kept(token) > *ROOM.get(token) {
        forget_closed(token);
    }
}

/// Forgets what was kept about descriptors that are closed: a program may make any number of pipes, and their names do
/// not come again.
///
/// Descriptors go by many ways (close, dup2 onto them, close_range, fclose, inside libraries), and one pipe has many:
/// only the kernel knows which are left. It is asked each time what is kept has doubled, so that it costs each pipe a
/// share that does not grow.
fn forget_closed(token: &mut Token<'_>) {
    let pairs = PAIRS.made(token);
    let mut open: Vec<u64> = Vec::new();
    let mut sockets: Vec<u64> = Vec::new();
    let seen = system::each_entry(c"/proc/self/fd", |name| {
        let descriptor = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
        let Some((descriptor, (inode, kind))) = descriptor.and_then(|fd| Some((fd, inode(fd)?))) else { return };
        if let Some((send, receive)) = channel_of(pairs, descriptor, inode, kind) {
            open.extend([send, receive]);
        }
        if kind == libc::S_IFSOCK {
            sockets.push(inode);
        }
    });
    if seen {
        open.sort_unstable();
        sockets.sort_unstable();
        pairs.retain(|inode, _| sockets.binary_search(inode).is_ok());
        // Of a pair, what one end has sent is there for the other: it counts as long as either is open.
        token.objects().channels.retain(|&id, _| id < PIPES || open.binary_search(&id).is_ok());
    }
    let room = (2 * kept(token)).max(LEAST_ROOM);
    *ROOM.get(token) = room;
}

/// Whether what is received from a channel is what was sent first, byte by byte.
pub fn is_stream(channel: u64) -> bool {
    (PIPES..EVENTS).contains(&channel)
}

/// A pipe was made. The kernel's numbers come again, after long.
pub fn pipe_made(token: &mut Token<'_>, end: c_int) {
    if let Some((inode, _)) = inode(end) {
        token.objects().channels.insert(pipe_channel(inode), Default::default());
        // Many may be made and never used under control.
        tidy(token);
    }
}

/// A pair of sockets was made: what is sent to the one is received from the other.
pub fn pair_made(token: &mut Token<'_>, one: c_int, other: c_int) {
    if let (Some((one, _)), Some((other, _))) = (inode(one), inode(other)) {
        let (from_one, from_other) = (pipe_channel(one), pipe_channel(other));
        PAIRS.made(token).insert(one, (from_one, from_other));
        PAIRS.made(token).insert(other, (from_other, from_one));
        token.objects().channels.remove(&from_one);
        token.objects().channels.remove(&from_other);
        // Many may be made and never used under control.
        tidy(token);
    }
}
