//! The launcher's side of the shared region: a memfd, mapped, with its header filled in.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use reweave_conductor::NO_THREAD;
use reweave_conductor::shared::{self, Region};
use std::sync::atomic::Ordering;

/// How the scheduler decides.
#[derive(Clone, Debug, Default)]
pub enum Policy {
    /// Round robin, for recording.
    #[default]
    Quantum,
    /// Round robin, all slices of the same length: a quantum of steps, or of writes. One thread may have to wait for
    /// all others, and all until there are so many.
    Turns {
        by_writes: bool,
        victim: Option<u32>,
        crowd: u32,
    },
    Random,
    Pct {
        depth: u32,
        length: u64,
    },
}

impl Policy {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Quantum => "quantum",
            Self::Turns { .. } => "turns",
            Self::Random => "random",
            Self::Pct { .. } => "pct",
        }
    }
}

/// What the header tells the target.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub policy: Policy,
    pub seed: u64,
    pub quantum: u32,
    pub start_realtime: u64,
    pub stop_at: u64,
    /// Accesses that only repeat what their thread did may be left out.
    pub skip_repeats: bool,
    /// Accesses that are as foreseen may be left out: who takes the chunks knows what they would have been.
    pub foresee: bool,
    /// Slices that a thread gets at a stretch beyond the first, as long as it only accesses memory.
    pub quiet_slices: u32,
    /// Threads run free between synchronizations.
    pub free: bool,
    /// Where functions begin and end whose accesses are left out.
    pub ignored: Vec<[u64; 2]>,
    /// As made by `policy::replay::encode`; the policy is then to follow it.
    pub schedule: Option<Vec<u8>>,
}

/// Unmapped when the last user is gone.
pub struct Mapping {
    region: Region,
    base: *mut libc::c_void,
    size: usize,
    memory: OwnedFd,
}

// SAFETY: the mapping is shared memory; every field that changes while the target runs is atomic.
unsafe impl Send for Mapping {}
// SAFETY: see above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub fn new(configuration: &Configuration) -> io::Result<Self> {
        let schedule = configuration.schedule.as_deref().unwrap_or_default();
        let size = Region::size(schedule.len());
        // SAFETY: a NUL-terminated name; the result is checked.
        let memory = unsafe { libc::memfd_create(c"reweave".as_ptr(), libc::MFD_CLOEXEC) };
        if memory < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, owned by nobody else.
        let memory = unsafe { OwnedFd::from_raw_fd(memory) };
        // SAFETY: plain calls on a descriptor of ours. Pages come when they are first written, once, because chunks are
        // used again and again: making all of them now would be most of the cost of a short run, and runs are many.
        let base = unsafe {
            if libc::ftruncate(memory.as_raw_fd(), size as libc::off_t) != 0 {
                return Err(io::Error::last_os_error());
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, memory.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: mapped with this size; `Mapping` keeps it.
        let region = unsafe { Region::new(base.cast()) };
        let mapping = Self { region, base, size, memory };
        mapping.fill(configuration, schedule);
        Ok(mapping)
    }

    fn fill(&self, configuration: &Configuration, schedule: &[u8]) {
        // SAFETY: the target does not have the region yet.
        let header = unsafe { self.region.header_mut() };
        header.magic = shared::MAGIC;
        header.version = shared::VERSION;
        header.policy = match configuration.policy {
            _ if configuration.schedule.is_some() => shared::POLICY_REPLAY,
            Policy::Quantum => shared::POLICY_QUANTUM,
            Policy::Turns { by_writes, victim, crowd } => {
                (header.by_writes, header.victim) = (by_writes.into(), victim.unwrap_or(NO_THREAD));
                header.crowd = crowd;
                shared::POLICY_TURNS
            }
            Policy::Random => shared::POLICY_RANDOM,
            Policy::Pct { depth, length } => {
                (header.pct_depth, header.pct_length) = (depth, length);
                shared::POLICY_PCT
            }
        };
        header.quantum = configuration.quantum;
        header.seed = configuration.seed;
        header.launcher_pid = std::process::id();
        header.start_realtime = configuration.start_realtime;
        header.stop_at = configuration.stop_at;
        header.skip_repeats = configuration.skip_repeats.into();
        header.foresee = configuration.foresee.into();
        header.quiet_slices = configuration.quiet_slices;
        for (to, from) in header.ignored.iter_mut().zip(&configuration.ignored) {
            *to = *from;
        }
        header.free = configuration.free.into();
        header.ignored_count = configuration.ignored.len().min(shared::MAX_IGNORED) as u32;
        header.schedule_bytes = schedule.len() as u64;
        header.holder.store(NO_THREAD, Ordering::Relaxed);
        header.revoke.store(NO_THREAD, Ordering::Relaxed);
        // SAFETY: `Region::size` made room for it behind the chunks.
        unsafe { std::ptr::copy_nonoverlapping(schedule.as_ptr(), self.region.schedule(), schedule.len()) };
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    pub const fn region(&self) -> &Region {
        &self.region
    }

    pub const fn size(&self) -> usize {
        self.size
    }

    pub const fn memory(&self) -> &OwnedFd {
        &self.memory
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping; whoever uses the region holds a reference to us.
        unsafe { libc::munmap(self.base, self.size) };
    }
}
