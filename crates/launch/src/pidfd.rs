//! Descriptors for processes: the one way to notice the end of a process that is not our child, without mistaking a
//! later one with the same number for it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

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
        self.ends_within(Duration::ZERO)
    }

    /// Waits for its end, at most so long.
    pub fn ends_within(&self, limit: Duration) -> bool {
        let until = Instant::now().checked_add(limit);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            // In whole milliseconds, rounded up: not a busy loop at the end.
            let wait = left.map_or(i32::MAX, |left| left.as_micros().div_ceil(1000).try_into().unwrap_or(i32::MAX));
            let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one descriptor.
            if unsafe { libc::poll(&raw mut poll, 1, wait) } == 1 {
                return true;
            }
            // A signal may have cut it short.
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
        }
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
