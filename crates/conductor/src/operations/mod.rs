//! What threads do to objects. Every function is called by the holder of the token and returns with it; each records
//! the steps it takes.

mod accesses;
mod life;
mod locks;
mod messages;
mod waits;

pub use accesses::Performed;

use crate::policy::Next;
use crate::thread::{NEVER, Status};
use crate::token::{Pause, Token};
use crate::world::World;
use reweave_model::{BlockedOn, ObjectId, Op, RefusedWhy};

/// How long an operation may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deadline {
    Never,
    /// Not at all: a try.
    Now,
    /// Until this virtual time.
    At(u64),
}

impl Deadline {
    const fn time(self) -> u64 {
        if let Self::At(time) = self { time } else { NEVER }
    }
}

/// Why a blocked thread runs again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wakeup {
    Granted,
    TimedOut,
    /// An interruption is to be delivered; wait again afterwards or give up, as the operation wants.
    Interrupted,
    Cancelled,
}

impl<W: World> Token<'_, W> {
    /// Blocks until the wait is over, one way or another. Records nothing.
    pub fn block(&mut self, on: BlockedOn, object: u64, deadline: Deadline) -> Wakeup {
        let me = self.me();
        me.wait.on.set(on);
        me.wait.object.set(object);
        me.wait.deadline.set(deadline.time());
        me.scheduling.status.set(Status::Blocked);
        self.pause(Pause::Stop);
        let (conductor, state, me) = self.parts();
        // The slice made it Ready; ask again what it was.
        let wakeup = if me.has_ordered_interrupt() {
            // Even if what it waits for has come as well.
            Wakeup::Interrupted
        } else if state.granted(&conductor.threads.lock(), me) {
            Wakeup::Granted
        } else if !me.interrupts.is_empty() {
            Wakeup::Interrupted
        } else if me.wait.is_cancelled() {
            Wakeup::Cancelled
        } else {
            Wakeup::TimedOut
        };
        me.wait.deadline.set(NEVER);
        me.wait.patient.set(0);
        if wakeup != Wakeup::Interrupted {
            state.timers.idle = 0;
        }
        wakeup
    }

    /// The same for a wait that a cancellation ends.
    pub fn block_interruptibly(&mut self, on: BlockedOn, object: u64, deadline: Deadline) -> Wakeup {
        self.me().wait.interruptible.set(true);
        let wakeup = self.block(on, object, deadline);
        self.me().wait.interruptible.set(false);
        wakeup
    }

    /// The moment before an operation on an object.
    fn object_point(&mut self, pc: u64, object: u64) {
        self.announce(Next::object(pc, object));
        self.sync_point();
    }

    /// Records that the thread has to wait, once.
    fn say_blocked(&mut self, said: &mut bool, pc: u64, on: BlockedOn, object: ObjectId) {
        if !std::mem::replace(said, true) {
            self.step(pc, Op::Blocked { on, object });
        }
    }

    fn refuse(&mut self, pc: u64, on: BlockedOn, object: ObjectId, why: RefusedWhy) {
        self.step(pc, Op::Refused { object, on, why });
    }

    /// After a wait that was not granted: the refusal is a step of its own.
    fn refuse_late(&mut self, pc: u64, on: BlockedOn, object: ObjectId, wakeup: Wakeup) {
        self.point();
        let timed_out = wakeup == Wakeup::TimedOut;
        self.refuse(pc, on, object, if timed_out { RefusedWhy::TimedOut } else { RefusedWhy::Interrupted });
    }
}
