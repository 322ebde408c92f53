//! Descriptors for processes: the one way to notice the end of a process that is not our child, without mistaking a
//! later one with the same number for it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub struct PidFd(OwnedFd);

impl PidFd {
    pub fn open(pid: u32) -> io::Result<Self> {
        // SAFETY: pidfd_open takes a pid and flags; it opens with close-on-exec set.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    pub fn has_ended(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, no waiting.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    }

    pub fn kill(&self, signal: i32) {
        // SAFETY: no siginfo, no flags. A process that is gone already is fine.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.0.as_raw_fd(),
                signal,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
    }
}
