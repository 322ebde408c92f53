//! Introduces this process to the `reweave` process and maps the shared region.

use reweave_conductor::shared::{ENV_PLAIN, ENV_SOCKET, Hello, MAGIC, Region, VERSION, Welcome};
use std::mem::{size_of, zeroed};

/// A C string from the environment; libc's getenv neither allocates nor locks.
fn environment(name: &str) -> Option<&'static [u8]> {
    let mut zero_terminated = [0u8; 32];
    zero_terminated[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: a zero-terminated name; the environment stays.
    unsafe {
        let value = libc::getenv(zero_terminated.as_ptr().cast());
        (!value.is_null()).then(|| std::ffi::CStr::from_ptr(value).to_bytes())
    }
}

/// Whether the launcher wants this process although it was not built with `reweave cc`.
pub fn wanted_plain() -> bool {
    let number = environment(ENV_PLAIN).and_then(|value| std::str::from_utf8(value).ok()?.parse::<i32>().ok());
    // SAFETY: getppid cannot fail.
    number.is_some_and(|pid| pid == unsafe { libc::getppid() })
}

/// Asks for a region. `None`: nobody listens, or the launcher does not want this process.
pub fn connect(instrumented: bool, forked: bool) -> Option<Region> {
    let path = environment(ENV_SOCKET)?;
    // SAFETY: plain socket calls on structures that live for the calls.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return None;
        }
        let region = exchange(socket, path, instrumented, forked);
        crate::runtime::system::close(socket);
        region
    }
}

unsafe fn exchange(socket: i32, path: &[u8], instrumented: bool, forked: bool) -> Option<Region> {
    // SAFETY: see `connect`.
    unsafe {
        let mut address: libc::sockaddr_un = zeroed();
        address.sun_family = libc::AF_UNIX as u16;
        if path.len() >= address.sun_path.len() {
            return None;
        }
        for (to, from) in address.sun_path.iter_mut().zip(path) {
            *to = *from as libc::c_char;
        }
        let connect = crate::runtime::system::raw(
            42,
            [socket as usize, &raw const address as usize, size_of::<libc::sockaddr_un>(), 0, 0, 0],
        );
        if connect != 0 {
            return None;
        }
        let hello = Hello {
            magic: MAGIC,
            version: VERSION,
            pid: libc::getpid() as u32,
            parent: libc::getppid() as u32,
            instrumented: instrumented.into(),
            forked: forked.into(),
        };
        let sent =
            crate::runtime::system::raw(1, [socket as usize, &raw const hello as usize, size_of::<Hello>(), 0, 0, 0]);
        if sent != size_of::<Hello>() as isize {
            return None;
        }
        let mut welcome: Welcome = zeroed();
        let mut part = libc::iovec { iov_base: (&raw mut welcome).cast(), iov_len: size_of::<Welcome>() };
        let mut control = [0u64; 8];
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let received = loop {
            let got = crate::runtime::system::raw(
                47,
                [socket as usize, &raw mut message as usize, libc::MSG_CMSG_CLOEXEC as usize, 0, 0, 0],
            );
            if got != -(libc::EINTR as isize) {
                break got;
            }
        };
        if received != size_of::<Welcome>() as isize || welcome.magic != MAGIC || welcome.refused != 0 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return None;
        }
        let descriptor = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
        let size = welcome.region_bytes as usize;
        let at = crate::runtime::system::raw(9, [0, size, 3, libc::MAP_SHARED as usize, descriptor as usize, 0]);
        crate::runtime::system::close(descriptor);
        if (-4095..0).contains(&at) {
            return None;
        }
        let region = Region::new(at as *mut u8);
        (region.header().magic == MAGIC && region.header().version == VERSION).then_some(region)
    }
}
