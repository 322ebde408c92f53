//! Ctrl-C and friends while a target runs. A key of the terminal reaches the target by itself, as it is in the same
//! foreground group; a signal sent to `reweave` alone is passed on. Either way `reweave` stays to finish the trace. A watched
//! program that does not end by the first Ctrl-C is ended by the second one, so that the summary comes.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// SIGXFSZ is among them so that a file-size limit is an error of ours to tell, not our end; it is never passed on.
const SIGNALS: [i32; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ];

static TARGET: AtomicI32 = AtomicI32::new(0);
/// Whether asking twice ends the target.
static INSIST: AtomicBool = AtomicBool::new(false);
static ASKED_TARGET: AtomicBool = AtomicBool::new(false);

extern "C" fn pass_on(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let target = TARGET.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a valid siginfo. The terminal sends with SI_KERNEL, `kill` with SI_USER.
    let from_terminal = unsafe { (*info).si_code } == libc::SI_KERNEL;
    let asks_to_end = matches!(signal, libc::SIGINT | libc::SIGTERM);
    if target > 0 && asks_to_end && ASKED_TARGET.swap(true, Ordering::Relaxed) && INSIST.load(Ordering::Relaxed) {
        // SAFETY: kill is async-signal-safe.
        unsafe { libc::kill(target, libc::SIGKILL) };
    }
    if target > 0 && !from_terminal && signal != libc::SIGXFSZ {
        // SAFETY: kill is async-signal-safe.
        unsafe { libc::kill(target, signal) };
    }
}

/// Handles the signals while it lives.
pub(crate) struct Guard {
    old: Vec<(i32, libc::sigaction)>,
}

impl Guard {
    pub fn new() -> Self {
        let mut old = Vec::new();
        for signal in SIGNALS {
            // SAFETY: zeroed actions are valid; the handler only uses what it may. `exec` resets it in the target.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut before);
                // `nohup` and shells' background jobs ignore some: so must the target.
                if before.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = pass_on as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
                old.push((signal, before));
            }
        }
        Self { old }
    }

    /// Whether a target that was asked to end twice is ended.
    pub fn insist(&self, insist: bool) {
        ASKED_TARGET.store(false, Ordering::Relaxed);
        INSIST.store(insist, Ordering::Relaxed);
    }

    pub fn target(&self, pid: u32) {
        TARGET.store(pid as i32, Ordering::Relaxed);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        TARGET.store(0, Ordering::Relaxed);
        for (signal, action) in &self.old {
            // SAFETY: what was there before.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
    }
}

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_signal: i32) {
    if ASKED.swap(true, Ordering::Relaxed) {
        // The second time in earnest.
        // SAFETY: async-signal-safe.
        unsafe { libc::_exit(130) };
    }
}

/// For work without a target: true once somebody has asked to stop, so that what is known by then can be told.
pub fn asked_to_stop() -> &'static AtomicBool {
    // SAFETY: the handler only touches an atomic.
    unsafe { libc::signal(libc::SIGINT, remember as *const () as usize) };
    &ASKED
}
