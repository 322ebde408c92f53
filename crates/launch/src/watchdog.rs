//! The last resort against blocking that nothing intercepts: a holder of the token that sits in a system call while
//! others could run loses the token. The decision is recorded, so replay repeats it.
//!
//! It only asks; a waiting thread of the target carries it out, and only if the trace has not moved meanwhile.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reweave_conductor::shared::Region;
use reweave_conductor::{NO_THREAD, recorder, sys};

/// How often the collector looks.
pub const TICK: Duration = Duration::from_millis(5);
/// In a system call for so long without an event: blocked.
const BLOCKED_AFTER: Duration = Duration::from_millis(10);
/// Computing for so long (CPU time) without an event: busy where no hook is.
const BUSY_AFTER: Duration = Duration::from_millis(50);
/// In a system call for so long: blocked, even if other threads of a machine of which it may wait still run.
const BLOCKED_FOR_SURE: Duration = Duration::from_secs(2);
/// Replay waits so long for a thread that is outside.
const GIVE_UP_AFTER: Duration = Duration::from_secs(3);

pub struct Watchdog {
    pid: u32,
    replaying: bool,
    position: u64,
    holder: u32,
    since: Instant,
    /// CPU time of the holder when it was first seen without progress.
    cpu: Option<Duration>,
    /// Do not ask again before this.
    quiet_until: Instant,
    patience: Duration,
}

impl Watchdog {
    pub fn new(pid: u32, replaying: bool) -> Self {
        let now = Instant::now();
        Self {
            pid,
            replaying,
            position: u64::MAX,
            holder: NO_THREAD,
            since: now,
            cpu: None,
            quiet_until: now,
            patience: BLOCKED_AFTER,
        }
    }

    pub fn tick(&mut self, region: &Region) {
        let header = region.header();
        let now = Instant::now();
        let (position, holder) = (recorder::position(region), header.holder.load(Ordering::Acquire));
        if (position, holder) != (self.position, self.holder) {
            (self.position, self.holder, self.since, self.cpu) = (position, holder, now, None);
            self.patience = BLOCKED_AFTER;
            return;
        }
        let still = now - self.since;
        if holder == NO_THREAD {
            if self.replaying && still >= GIVE_UP_AFTER {
                self.since = now;
                header.give_up.store(1, Ordering::Release);
                sys::futex_wake(&header.give_up);
                wake_all(region);
            }
            return;
        }
        let asked = Duration::from_millis(header.patience.load(Ordering::Relaxed).into());
        let (blocked_after, busy_after) = (BLOCKED_AFTER.max(asked), BUSY_AFTER.max(asked));
        if header.waiting.load(Ordering::Relaxed) == 0 || still < blocked_after || now < self.quiet_until {
            return;
        }
        let os = header.holder_os.load(Ordering::Relaxed);
        // A program that asks for patience runs in a machine that has threads of its own (a collector, a compiler), for
        // which its threads wait now and then: on a busy computer for long.
        let may_be_served = asked > Duration::ZERO && still < BLOCKED_FOR_SURE;
        if self.is_stuck(os, busy_after) && !(may_be_served && another_runs(self.pid, os)) {
            header.revoke_at.store(position, Ordering::Release);
            header.revoke.store(holder, Ordering::Release);
            wake_all(region);
            // A request that nobody could carry out is repeated, but not at every tick.
            self.quiet_until = now + self.patience;
            self.patience = (self.patience * 2).min(Duration::from_millis(500));
        }
    }

    fn is_stuck(&mut self, os: u32, busy_after: Duration) -> bool {
        let task = format!("/proc/{}/task/{os}", self.pid);
        match in_system_call(&task) {
            Some(true) => true,
            Some(false) => {
                let Some(cpu) = cpu_time(&task) else { return false };
                let start = *self.cpu.get_or_insert(cpu);
                cpu.saturating_sub(start) >= busy_after
            }
            None => false,
        }
    }
}

fn wake_all(region: &Region) {
    let header = region.header();
    let slots = header.slots.load(Ordering::Acquire) as usize;
    for word in header.wake.iter().take(slots) {
        word.fetch_add(1, Ordering::Release);
        sys::futex_wake(word);
    }
}

/// Whether a thread is in a system call. A page fault (`-1`) is not one. `None`: the thread is gone.
fn in_system_call(task: &str) -> Option<bool> {
    match fs::read_to_string(format!("{task}/syscall")) {
        Ok(text) => Some(text.split(' ').next()?.parse::<i64>().is_ok_and(|number| number >= 0)),
        // Hidden from us (a program that is not dumpable): whether it sleeps must do.
        Err(_) => {
            let stat = fs::read_to_string(format!("{task}/stat")).ok()?;
            let state = stat.rsplit_once(") ")?.1.chars().next()?;
            Some(matches!(state, 'S' | 'D'))
        }
    }
}

/// Whether a thread of the process runs, or would if it had a processor, other than that one.
fn another_runs(pid: u32, os: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    let own = os.to_string();
    tasks.flatten().filter(|task| task.file_name() != own.as_str()).any(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
    })
}

fn cpu_time(task: &str) -> Option<Duration> {
    if let Ok(text) = fs::read_to_string(format!("{task}/schedstat"))
        && let Some(nanoseconds) = text.split(' ').next().and_then(|word| word.parse().ok())
    {
        return Some(Duration::from_nanos(nanoseconds));
    }
    // A kernel without schedstat: user and system time in ticks of 10 ms.
    let stat = fs::read_to_string(format!("{task}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_a_thread_that_sleeps_and_one_that_runs() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (quit, asked) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            sender.send(sys::thread_id()).expect("the test waits");
            let _ = asked.recv();
        });
        let task = format!("/proc/self/task/{}", receiver.recv().expect("the thread says who it is"));
        let start = Instant::now();
        while in_system_call(&task) != Some(true) {
            assert!(start.elapsed() < Duration::from_secs(5), "a thread in recv is in a system call");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(quit);
        sleeper.join().expect("no panic");
        let own = format!("/proc/self/task/{}", sys::thread_id());
        assert!(cpu_time(&own).is_some());
        assert_eq!(in_system_call("/proc/self/task/0"), None);
        assert!(another_runs(std::process::id(), 0), "this thread runs");
    }
}
