//! Ctrl-C and friends while a target runs. A key of the terminal reaches the target by itself, as it is in the same
//! foreground group; a signal sent to `reweave` alone is passed on. Either way `reweave` stays to finish the trace. A
//! watched program that does not end by the first Ctrl-C is ended by the second one, so that the summary comes.
//!
//! A signal that comes while the target is being started is kept for it. One that comes when it has just ended was
//! meant for it too, and does not end `reweave` before it has reported what it knows; SIGQUIT does.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// SIGXFSZ is among them so that a file-size limit is an error of ours to tell, not our end; it is never passed on.
const SIGNALS: [i32; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ];

/// A program that runs, or is about to: several do while findings are confirmed side by side.
struct Target {
    /// Its process, or one of those below.
    process: AtomicI32,
    /// Signals that came before it was there, one bit each.
    kept: AtomicU64,
}

/// There is none, or none any more: nobody to pass anything on to.
const OVER: i32 = 0;
/// It will be there soon.
const STARTING: i32 = -1;

/// Those beyond are not passed on.
static TARGETS: [Target; 64] = [const { Target { process: AtomicI32::new(OVER), kept: AtomicU64::new(0) } }; 64];
/// Whether asking twice ends the target.
static INSIST: AtomicBool = AtomicBool::new(false);
static ASKED_TARGET: AtomicBool = AtomicBool::new(false);

fn send(process: i32, signal: i32) {
    // SAFETY: kill is async-signal-safe.
    unsafe { libc::kill(process, signal) };
}

extern "C" fn pass_on(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let targets = || TARGETS.iter().filter(|target| target.process.load(Ordering::SeqCst) != OVER);
    let asks_to_end = matches!(signal, libc::SIGINT | libc::SIGTERM);
    if asks_to_end {
        ASKED.store(true, Ordering::SeqCst);
    }
    if targets().next().is_none() && signal == libc::SIGQUIT {
        // SAFETY: async-signal-safe.
        unsafe { libc::_exit(128 + signal) };
    }
    if targets().next().is_none() || signal == libc::SIGXFSZ {
        return;
    }
    let asked_before = asks_to_end && ASKED_TARGET.swap(true, Ordering::SeqCst);
    // SAFETY: the kernel passes a valid siginfo. The terminal sends with SI_KERNEL, `kill` with SI_USER.
    let from_terminal = unsafe { (*info).si_code } == libc::SI_KERNEL;
    for target in targets() {
        let process = target.process.load(Ordering::SeqCst);
        if process == STARTING {
            // Also one of the terminal: it went to those who were there. A target that was there already gets it twice.
            target.kept.fetch_or(1 << signal, Ordering::SeqCst);
            // It may have come in the moment between: whoever takes it out of the set sends it.
            target.pass_on_kept();
            continue;
        }
        if asked_before && INSIST.load(Ordering::SeqCst) {
            send(process, libc::SIGKILL);
        }
        if !from_terminal {
            send(process, signal);
        }
    }
}

impl Target {
    /// Sends what was kept, if the target is there.
    fn pass_on_kept(&self) {
        let process = self.process.load(Ordering::SeqCst);
        if process > 0 {
            let kept = self.kept.swap(0, Ordering::SeqCst);
            SIGNALS.into_iter().filter(|signal| kept & 1 << signal != 0).for_each(|signal| send(process, signal));
        }
    }
}

/// How many guards there are, and what was there before the first of them.
static BEFORE: Mutex<(usize, Vec<(i32, Action)>)> = Mutex::new((0, Vec::new()));

struct Action(libc::sigaction);

// SAFETY: plain data; the addresses in it are those of functions.
unsafe impl Send for Action {}

/// Handles the signals while it lives, for a target that is about to be started. Guards may stand inside each other and
/// side by side.
pub struct Guard {
    target: Option<&'static Target>,
}

impl Guard {
    /// `insist`: a target that was asked to end twice is ended.
    pub fn new(insist: bool) -> Self {
        ASKED_TARGET.store(false, Ordering::SeqCst);
        INSIST.store(insist, Ordering::SeqCst);
        let free = |target: &&'static Target| {
            target.process.compare_exchange(OVER, STARTING, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let target = TARGETS.iter().find(free);
        Self::handle();
        Self { target }
    }

    /// For what is done before the target is started and after it has ended, in one piece.
    pub fn around() -> Self {
        Self::handle();
        Self { target: None }
    }

    fn handle() {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.0 += 1;
        if before.0 > 1 {
            return;
        }
        for signal in SIGNALS {
            // SAFETY: zeroed actions are valid; the handler only uses what it may. `exec` resets it in the target.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut old);
                // `nohup` and shells' background jobs ignore some: so must the target.
                if old.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = pass_on as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
                before.1.push((signal, Action(old)));
            }
        }
    }

    /// The target is there.
    pub fn target(&self, pid: u32) {
        if let Some(target) = self.target {
            target.process.store(pid as i32, Ordering::SeqCst);
            target.pass_on_kept();
        }
    }

    /// It has ended.
    pub fn over(&self) {
        if let Some(target) = self.target {
            target.kept.store(0, Ordering::SeqCst);
            target.process.store(OVER, Ordering::SeqCst);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.over();
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.0 -= 1;
        if before.0 == 0 {
            for (signal, Action(action)) in before.1.drain(..) {
                // SAFETY: what was there before.
                unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
            }
        }
    }
}

/// Somebody has asked us to end.
static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_signal: i32) {
    if ASKED.swap(true, Ordering::Relaxed) {
        // The second time in earnest.
        // SAFETY: async-signal-safe.
        unsafe { libc::_exit(130) };
    }
}

/// Whether somebody has asked us to end, while a guard was there.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// The same, for those who look often.
pub fn flag() -> &'static AtomicBool {
    &ASKED
}

/// What was asked until now was meant for the program.
pub fn forget() {
    ASKED.store(false, Ordering::SeqCst);
}

/// For work without a target: true once somebody has asked to stop, so that what is known by then can be reported.
pub fn asked_to_stop() -> &'static AtomicBool {
    // SAFETY: the handler only touches an atomic.
    unsafe { libc::signal(libc::SIGINT, remember as *const () as usize) };
    &ASKED
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    fn signal_ourselves(signal: i32) {
        // SAFETY: the guard handles it, in this thread and before this returns.
        unsafe { libc::raise(signal) };
    }

    fn kept() -> u64 {
        TARGETS.iter().fold(0, |all, target| all | target.kept.load(Ordering::SeqCst))
    }

    /// One test, because signals are the whole process's.
    #[test]
    fn signals_reach_the_target_whenever_they_come() {
        // A shell's background job ignores it.
        // SAFETY: nothing else here handles it.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        for before in [true, false] {
            let guard = Guard::new(false);
            if before {
                signal_ourselves(libc::SIGINT);
            }
            let mut target = Command::new("sleep").arg("60").spawn().expect("sleep starts");
            guard.target(target.id());
            if !before {
                signal_ourselves(libc::SIGINT);
            }
            let status = target.wait().expect("our child");
            assert_eq!(status.signal(), Some(libc::SIGINT), "before it was there: {before}");
            assert_eq!(kept(), 0, "it is sent once");
        }
        // One that does not listen is ended by the second, wherever the first came.
        let guard = Guard::new(true);
        signal_ourselves(libc::SIGINT);
        let mut deaf = Command::new("sleep");
        // SAFETY: async-signal-safe.
        unsafe {
            deaf.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_IGN);
                Ok(())
            });
        }
        let mut target = deaf.arg("60").spawn().expect("sleep starts");
        guard.target(target.id());
        signal_ourselves(libc::SIGINT);
        assert_eq!(target.wait().expect("our child").signal(), Some(libc::SIGKILL));
        // Nobody is there any more, and nobody will come: we go on.
        guard.over();
        signal_ourselves(libc::SIGINT);
        assert_eq!(kept(), 0);
        drop(guard);
        let around = Guard::around();
        drop(Guard::new(true));
        signal_ourselves(libc::SIGINT);
        assert_eq!(kept(), 0);
        drop(around);
    }
}
