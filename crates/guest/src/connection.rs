//! The connection to the launcher: introduces this process and maps the shared region. Makes its system calls directly:
//! in a runtime that replaces functions of the C library, these must not come back to it.

use reweave_conductor::shared::{ENV_PLAIN, ENV_SOCKET, Hello, MAGIC, Region, VERSION, Welcome};
use reweave_conductor::sys::syscall;
use std::mem::{size_of, zeroed};

/// What a process says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Introduction {
    /// Its accesses are recorded; else it is recorded at the level of locks.
    pub instrumented: bool,
    /// It is the child of a fork.
    pub forked: bool,
}

/// A C string from the environment; libc's getenv neither allocates nor locks.
pub(crate) fn environment(name: &str) -> Option<&'static [u8]> {
    let mut zero_terminated = [0u8; 32];
    zero_terminated[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: a zero-terminated name; the environment stays.
    unsafe {
        let value = libc::getenv(zero_terminated.as_ptr().cast());
        (!value.is_null()).then(|| std::ffi::CStr::from_ptr(value).to_bytes())
    }
}

/// Whether the launcher wants this process although it was not made to be recorded.
pub fn wants_uninstrumented() -> bool {
    let number = environment(ENV_PLAIN).and_then(|value| std::str::from_utf8(value).ok()?.parse::<i32>().ok());
    // SAFETY: getppid cannot fail.
    number.is_some_and(|pid| pid == unsafe { libc::getppid() })
}

/// Asks for a region. `None`: nobody listens, or the launcher does not want this process.
pub fn connect(introduction: Introduction) -> Option<Region> {
    let path = environment(ENV_SOCKET)?;
    // SAFETY: a new socket of our own.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return None;
    }
    let region = if introduce(socket, path, introduction) { welcomed(socket) } else { None };
    close(socket);
    region
}

fn close(descriptor: i32) {
    // SAFETY: a descriptor of our own.
    unsafe { syscall(libc::SYS_close as usize, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// Calls the launcher and says hello; whether that worked.
fn introduce(socket: i32, path: &[u8], introduction: Introduction) -> bool {
    // SAFETY: an address made of zeros is a valid start.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    if path.len() >= address.sun_path.len() {
        return false;
    }
    for (to, from) in address.sun_path.iter_mut().zip(path) {
        *to = *from as libc::c_char;
    }
    let length = size_of::<libc::sockaddr_un>();
    // SAFETY: connect with an address that lives for the call.
    let connected =
        unsafe { syscall(libc::SYS_connect as usize, [socket as usize, &raw const address as usize, length, 0, 0, 0]) };
    // SAFETY: neither can fail.
    let (pid, parent) = unsafe { (libc::getpid() as u32, libc::getppid() as u32) };
    let Introduction { instrumented, forked } = introduction;
    let hello =
        Hello { magic: MAGIC, version: VERSION, pid, parent, instrumented: instrumented.into(), forked: forked.into() };
    let length = size_of::<Hello>();
    // SAFETY: write from a structure that lives for the call.
    connected == 0
        && unsafe { syscall(libc::SYS_write as usize, [socket as usize, &raw const hello as usize, length, 0, 0, 0]) }
            == length as isize
}

/// Takes the launcher's answer, and maps the region that comes with it.
fn welcomed(socket: i32) -> Option<Region> {
    // SAFETY: plain data.
    let mut welcome: Welcome = unsafe { zeroed() };
    let mut part = libc::iovec { iov_base: (&raw mut welcome).cast(), iov_len: size_of::<Welcome>() };
    let mut control = [0u64; 8];
    // SAFETY: plain data.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    let arguments = [socket as usize, &raw mut message as usize, libc::MSG_CMSG_CLOEXEC as usize, 0, 0, 0];
    let received = loop {
        // SAFETY: recvmsg into structures that live for the call.
        let got = unsafe { syscall(libc::SYS_recvmsg as usize, arguments) };
        if got != -(libc::EINTR as isize) {
            break got;
        }
    };
    if received != size_of::<Welcome>() as isize || welcome.magic != MAGIC || welcome.refused != 0 {
        return None;
    }
    // SAFETY: the message that was just filled.
    let descriptor = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return None;
        }
        libc::CMSG_DATA(header).cast::<i32>().read_unaligned()
    };
    let size = welcome.region_bytes as usize;
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a new mapping, anywhere.
    let at = unsafe {
        syscall(libc::SYS_mmap as usize, [0, size, access, libc::MAP_SHARED as usize, descriptor as usize, 0])
    };
    close(descriptor);
    if (-4095..0).contains(&at) {
        return None;
    }
    // SAFETY: mapped with the size that the launcher says; it stays.
    let region = unsafe { Region::new(at as *mut u8) };
    (region.header().magic == MAGIC && region.header().version == VERSION).then_some(region)
}
