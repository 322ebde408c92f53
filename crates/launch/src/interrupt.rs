//! Ctrl-C and friends while a target runs. A key of the terminal reaches the target by itself, as it is in the same
//! foreground group; a signal sent to `reweave` alone is passed on. Either way `reweave` stays to finish the trace. A watched
//! program that does not end by the first Ctrl-C is ended by the second one, so that the summary comes.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

/// SIGXFSZ is among them so that a file-size limit is an error of ours to tell, not our end; it is never passed on.
const SIGNALS: [i32; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ];

/// Programs that run now: several, while findings are confirmed side by side. Those beyond are not told.
static TARGETS: [AtomicI32; 64] = [const { AtomicI32::new(0) }; 64];
/// Whether asking twice ends the target.
static INSIST: AtomicBool = AtomicBool::new(false);
static ASKED_TARGET: AtomicBool = AtomicBool::new(false);

extern "C" fn pass_on(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo. The terminal sends with SI_KERNEL, `kill` with SI_USER.
    let from_terminal = unsafe { (*info).si_code } == libc::SI_KERNEL;
    let asks_to_end = matches!(signal, libc::SIGINT | libc::SIGTERM);
    let targets = || TARGETS.iter().map(|target| target.load(Ordering::Relaxed)).filter(|target| *target > 0);
    if asks_to_end
        && targets().next().is_some()
        && ASKED_TARGET.swap(true, Ordering::Relaxed)
        && INSIST.load(Ordering::Relaxed)
    {
        // SAFETY: kill is async-signal-safe.
        targets().for_each(|target| {
            unsafe { libc::kill(target, libc::SIGKILL) };
        });
    }
    if !from_terminal && signal != libc::SIGXFSZ {
        // SAFETY: kill is async-signal-safe.
        targets().for_each(|target| {
            unsafe { libc::kill(target, signal) };
        });
    }
}

/// How many guards there are, and what was there before the first of them.
static BEFORE: Mutex<(usize, Vec<(i32, Action)>)> = Mutex::new((0, Vec::new()));

struct Action(libc::sigaction);

// SAFETY: plain data; the addresses in it are those of functions.
unsafe impl Send for Action {}

/// Handles the signals while it lives; there may be several at a time.
pub(crate) struct Guard {
    slot: Option<usize>,
}

impl Guard {
    pub fn new() -> Self {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.0 += 1;
        if before.0 > 1 {
            return Self { slot: None };
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
        Self { slot: None }
    }

    /// Whether a target that was asked to end twice is ended.
    pub fn insist(&self, insist: bool) {
        ASKED_TARGET.store(false, Ordering::Relaxed);
        INSIST.store(insist, Ordering::Relaxed);
    }

    /// The program that runs now; 0: none.
    pub fn target(&mut self, pid: u32) {
        let pid = pid as i32;
        match self.slot {
            Some(slot) => TARGETS[slot].store(pid, Ordering::Relaxed),
            None if pid > 0 => {
                let free =
                    |slot: &AtomicI32| slot.compare_exchange(0, pid, Ordering::Relaxed, Ordering::Relaxed).is_ok();
                self.slot = TARGETS.iter().position(free);
            }
            None => {}
        }
        if pid == 0 {
            self.slot = None;
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.target(0);
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
