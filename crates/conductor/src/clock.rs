//! The virtual clock. It advances a little with every step, so that loops which watch the clock end, and jumps to a
//! deadline when nobody else can run. Real time enters only while the process waits for the outside world.

/// Virtual nanoseconds per step: about what a step costs for real.
const PER_STEP: u64 = 20;
/// Virtual nanoseconds per look at the clock, so that polling loops make progress.
const PER_LOOK: u64 = 1_000;

#[derive(Default, Debug)]
pub struct Clock {
    /// Nanoseconds from jumps and looks.
    extra: u64,
}

impl Clock {
    /// Nanoseconds since the start of the run after `steps` steps.
    pub const fn now(&self, steps: u64) -> u64 {
        self.extra + steps * PER_STEP
    }

    pub const fn look(&mut self, steps: u64) -> u64 {
        self.extra += PER_LOOK;
        self.now(steps)
    }

    /// Moves to `deadline` if that lies ahead; returns how far it jumped.
    pub const fn jump_to(&mut self, deadline: u64, steps: u64) -> u64 {
        let jump = deadline.saturating_sub(self.now(steps));
        self.extra += jump;
        jump
    }
}
