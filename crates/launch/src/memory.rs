//! How much memory `reweave` itself may take. A thread looks now and then; whoever does something that can take much
//! asks [`is_over`] in its loops, or is given the [`flag`], and gives up what it has begun. What was given up is counted.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Unless somebody says otherwise: a quarter of the machine's, and no more than this.
const MOST: u64 = 4 << 30;
const SHARE: u64 = 4;
/// Of a machine that does not say what it has.
const UNKNOWN: u64 = 4 << 30;
/// How often the thread looks: memory grows by some gigabytes a second at worst.
const EVERY: Duration = Duration::from_millis(20);

static OVER: AtomicBool = AtomicBool::new(false);
static TIMES: AtomicU64 = AtomicU64::new(0);

/// Set while more memory is taken than allowed.
pub const fn flag() -> &'static AtomicBool {
    &OVER
}

pub fn is_over() -> bool {
    OVER.load(Ordering::Relaxed)
}

/// How often that was so.
pub fn times() -> u64 {
    TIMES.load(Ordering::Relaxed)
}

/// What is allowed by default.
pub fn default_limit() -> u64 {
    (machine() / SHARE).min(MOST)
}

/// The memory of the machine, or of the group of processes that this one belongs to.
fn machine() -> u64 {
    let of_group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    });
    let of_machine = of_machine.map_or(UNKNOWN, |kilobytes| kilobytes << 10);
    of_group.unwrap_or(of_machine).min(of_machine)
}

/// What this process takes of it: its own pages, not those of files that it looks at.
fn taken() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(|number| number.parse::<u64>().ok());
    let (resident, shared) = (pages.next()??, pages.next()??);
    Some(resident.saturating_sub(shared) << 12)
}

/// Watches over the limit until it is dropped.
pub struct Limit {
    thread: Option<std::thread::JoinHandle<()>>,
}

static DONE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// From here on no more than this.
pub fn limit(bytes: u64) -> Limit {
    *DONE.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
    let watch = move || {
        let mut done = DONE.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*done {
            look(bytes);
            done = DONE.1.wait_timeout(done, EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    };
    // Without a thread there is no limit: the rest works all the same.
    Limit { thread: std::thread::Builder::new().name("memory".into()).spawn(watch).ok() }
}

fn look(limit: u64) {
    let Some(taken) = taken() else { return };
    if taken > limit {
        if !OVER.swap(true, Ordering::Relaxed) {
            TIMES.fetch_add(1, Ordering::Relaxed);
        }
        // What was given up may lie in the allocator.
        // SAFETY: gives free pages back, whoever allocates meanwhile.
        unsafe { libc::malloc_trim(0) };
    } else if taken < limit - limit / 8 {
        OVER.store(false, Ordering::Relaxed);
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        *DONE.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        DONE.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        OVER.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_share_of_the_machine() {
        let limit = default_limit();
        assert!(limit > 0 && limit <= MOST && limit <= machine() / SHARE, "{limit}");
        assert!(taken().is_some_and(|taken| taken > 0 && taken < machine()));
    }

    #[test]
    fn a_request_over_the_limit_is_reported_until_it_is_given_back() {
        let (before, taken) = (times(), taken().expect("statm"));
        look(taken + (1 << 40));
        assert!(!is_over());
        look(taken / 2);
        look(taken / 2);
        assert!(is_over() && times() == before + 1, "counted once");
        look(taken + (1 << 40));
        assert!(!is_over());
    }
}
