//! The virtual clock. It advances a little with every step, so that loops which watch the clock end, and jumps to a
//! deadline when nobody else can run. Real time enters only while the process waits for the outside world.

use crate::sys;

/// Virtual nanoseconds per step: about what a step costs for real.
const PER_STEP: u64 = 20;
/// Virtual nanoseconds per look at the clock, so that polling loops make progress.
const PER_LOOK: u64 = 1_000;

#[derive(Default, Debug)]
pub struct Clock {
    /// Nanoseconds from jumps and looks.
    extra: u64,
    /// Where threads run free: when the run began. Time passes by itself then, and only jumps are added.
    real_since: Option<u64>,
}

impl Clock {
    /// One that shows real time, and jumps besides.
    pub fn real() -> Self {
        Self { extra: 0, real_since: Some(sys::monotonic_now()) }
    }

    pub const fn is_real(&self) -> bool {
        self.real_since.is_some()
    }

    /// Nanoseconds since the start of the run after `steps` steps.
    pub fn now(&self, steps: u64) -> u64 {
        self.extra + self.real_since.map_or(steps * PER_STEP, |since| sys::monotonic_now() - since)
    }

    pub fn look(&mut self, steps: u64) -> u64 {
        if !self.is_real() {
            self.extra += PER_LOOK;
        }
        self.now(steps)
    }

    /// Moves to `deadline` if that lies ahead; returns how far it jumped.
    pub fn jump_to(&mut self, deadline: u64, steps: u64) -> u64 {
        let jump = deadline.saturating_sub(self.now(steps));
        self.extra += jump;
        jump
    }
}
