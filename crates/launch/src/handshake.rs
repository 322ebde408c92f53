//! How a process of the target introduces itself: it connects to a socket in a private folder, says [`Hello`], and gets
//! [`Welcome`] with the descriptor of its shared region.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use reweave_conductor::shared::{Hello, MAGIC, VERSION, Welcome};

/// Reads the greeting of a new connection, with the kernel's word on who sent it.
pub fn receive(stream: &mut UnixStream) -> io::Result<Hello> {
    // A process that connects and says nothing must not hold up the others.
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut bytes = [0u8; size_of::<Hello>()];
    stream.read_exact(&mut bytes)?;
    // SAFETY: `Hello` is six integers without padding: every pattern is valid.
    let mut hello: Hello = unsafe { std::mem::transmute(bytes) };
    if hello.magic != MAGIC || hello.version != VERSION {
        return Err(io::Error::other("the program was started by another version of reweave"));
    }
    // Its own idea of its pid is wrong inside a pid namespace.
    if let Some(pid) = peer(stream) {
        hello.pid = pid;
    }
    Ok(hello)
}

fn peer(stream: &UnixStream) -> Option<u32> {
    let mut credentials = MaybeUninit::<libc::ucred>::zeroed();
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the buffer has the size we say.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            credentials.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    // SAFETY: zeroed before, so initialised in any case.
    let credentials = unsafe { credentials.assume_init() };
    (result == 0 && credentials.pid > 0).then_some(credentials.pid as u32)
}

/// Sends the region along.
pub fn welcome(stream: &UnixStream, region: &OwnedFd, region_bytes: usize) -> io::Result<()> {
    send(stream, &Welcome { magic: MAGIC, refused: 0, region_bytes: region_bytes as u64 }, Some(region))
}

/// Tells the process to run without being recorded.
pub fn refuse(stream: &UnixStream) -> io::Result<()> {
    send(stream, &Welcome { magic: MAGIC, refused: 1, region_bytes: 0 }, None)
}

fn send(stream: &UnixStream, welcome: &Welcome, descriptor: Option<&OwnedFd>) -> io::Result<()> {
    // Room for one control message with one descriptor, aligned as control messages must be.
    let mut control = [0u64; 4];
    let mut part =
        libc::iovec { iov_base: std::ptr::from_ref(welcome).cast_mut().cast(), iov_len: size_of::<Welcome>() };
    // SAFETY: all-zero is a valid empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if let Some(descriptor) = descriptor {
        const PAYLOAD: u32 = size_of::<libc::c_int>() as u32;
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: pure arithmetic.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(PAYLOAD) } as usize;
        // SAFETY: the control buffer is large enough for one header and one descriptor.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const message);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(PAYLOAD) as usize;
            libc::CMSG_DATA(first).cast::<libc::c_int>().write_unaligned(descriptor.as_raw_fd());
        }
    }
    // SAFETY: the message and what it points to live until the call returns.
    let sent = unsafe { libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    if sent == size_of::<Welcome>() as isize {
        Ok(())
    } else if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Err(io::Error::other("the answer was cut short"))
    }
}
