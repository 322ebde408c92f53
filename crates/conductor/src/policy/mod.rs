//! Policies decide who runs next and for how many steps.

pub mod active;
pub mod meeting;
mod pct;
mod quantum;
mod random;
pub mod replay;
mod turns;

pub use active::{Active, Next};
pub use pct::Pct;
pub use quantum::Quantum;
pub use random::Random;
pub use replay::Replay;
pub use turns::Turns;

use crate::shared::{self, Region};
use crate::thread::{NO_THREAD, Thread};

/// One living thread as a policy sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub id: u32,
    /// Can run now.
    pub enabled: bool,
    /// Could run if the clock jumped to its deadline.
    pub timed: bool,
    /// Might come back from outside by itself.
    pub outside: bool,
    /// Is about to end the process.
    pub exiting: bool,
    /// Index in the schedule being replayed.
    pub scheduled_as: u32,
}

/// The thread that holds the token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runner {
    pub id: u32,
    /// Index in the schedule being replayed.
    pub scheduled_as: u32,
}

impl<R> From<&Thread<R>> for Runner {
    fn from(thread: &Thread<R>) -> Self {
        Self { id: thread.id, scheduled_as: thread.replay.scheduled_as.get() }
    }
}

pub struct View<'a> {
    // invariant: ids ascending
    pub candidates: &'a [Candidate],
    /// The thread that ran last, if it is still alive.
    pub current: u32,
    /// The current thread gave way by itself (yield, sleep), so prefer another.
    pub yielded: bool,
    /// The current thread has only accessed memory in the slice that ends.
    pub quiet: bool,
    /// Steps of the whole run so far.
    pub steps: u64,
}

impl View<'_> {
    pub fn enabled(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|c| c.enabled)
    }

    /// The first enabled thread after the current one in table order: everybody gets a turn.
    pub fn next_in_turn(&self) -> Option<u32> {
        let after = self.enabled().find(|c| c.id > self.current);
        after.or_else(|| self.enabled().next()).map(|c| c.id)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Run this thread for at most so many steps; if it waits for a deadline, jump the clock there.
    Run { thread: u32, steps: u32 },
    /// Nothing until this thread is back from outside.
    WaitFor { thread: u32 },
    /// Nobody can be chosen.
    Nobody,
}

/// `Send`: it goes with the token from thread to thread.
pub trait Policy: Send {
    fn pick(&mut self, view: &View<'_>) -> Choice;

    /// Asked before every synchronisation operation: end the slice here?
    fn preempt_at_sync(&mut self) -> bool {
        false
    }

    /// Asked before every step while the holder's slice is used up: may it go on without a new decision?
    fn passes(&mut self, who: Runner, next: &Next) -> bool {
        let _ = (who, next);
        false
    }

    /// A synchronization object was initialised.
    fn creates(&mut self, who: Runner, object: u64) {
        let _ = (who, object);
    }

    /// A lock was taken.
    fn takes(&mut self, who: Runner, lock: u64, pc: u64) {
        let _ = (who, lock, pc);
    }

    /// A lock was given back.
    fn gives(&mut self, who: Runner, lock: u64) {
        let _ = (who, lock);
    }

    /// Code was loaded.
    fn module(&mut self, base: u64, size: u64, bias: u64, path: &[u8]) {
        let _ = (base, size, bias, path);
    }

    /// The thread to be picked next is fixed, so a new thread needs its index there; `None`: not replaying.
    fn replay(&mut self) -> Option<&mut Replay> {
        None
    }
}

/// The policy the launcher asked for.
pub fn configured(region: Region) -> Box<dyn Policy> {
    let header = region.header();
    match header.policy {
        shared::POLICY_RANDOM => Box::new(Random::new(header.seed)),
        shared::POLICY_PCT => Box::new(Pct::new(header.seed, header.pct_depth, header.pct_length)),
        shared::POLICY_REPLAY => Box::new(Replay::new(region)),
        shared::POLICY_TURNS => {
            let victim = (header.victim != NO_THREAD).then_some(header.victim);
            Box::new(Turns::new(header.quantum, header.by_writes != 0, victim, header.crowd))
        }
        _ => Box::new(Quantum::new(header.quantum, header.quiet_slices, header.seed)),
    }
}

/// A small deterministic generator (splitmix64): schedules must be the same on every machine.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub const fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`; `n` must not be 0.
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.roll() as u128 * n as u128) >> 64) as u64
    }
}
