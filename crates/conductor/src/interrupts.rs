//! Interruptions: what makes a thread run a handler between two of its steps (a signal, say). They come from timers and
//! from outside when they come; a schedule that is followed says at which of its own steps a thread took them, and
//! there they are brought, like other outside inputs. In an exact replay those that arrive meanwhile are left to that:
//! the front end drops them ([`Conductor::repeats`]). In another order of steps only those of timers are brought: what
//! made somebody outside send one may not have happened yet.
//!
//! Interruptions that the program sends itself need none of it: they come where they are sent.

use crate::conductor::{Conductor, State};
use crate::policy::replay::{RecordedInterrupt, ThreadActivity};
use crate::thread::{NEVER, Status, Thread};
use crate::world::World;
use std::sync::atomic::{AtomicU64, Ordering};

/// The channel of an interruption that the program sends: whoever sends it comes before whoever handles it. Below any
/// mapped address.
pub const fn interrupt_channel(number: u32) -> u64 {
    0x100 + number as u64
}

/// The channel of a timer's interruption: whoever arms it comes before whoever handles it.
pub const fn timer_channel(number: u32) -> u64 {
    0x200 + number as u64
}

/// Whether a channel is one of those.
pub const fn is_timer_channel(channel: u64) -> bool {
    channel > timer_channel(0) && channel <= timer_channel(64)
}

/// Numbers of interruptions, from 1 to 64. Atomic, since a handler of the thread itself adds to it while the holder of
/// the token may, too.
#[derive(Debug, Default)]
pub struct InterruptSet(AtomicU64);

impl InterruptSet {
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    const fn bit(number: u32) -> u64 {
        1 << (number - 1)
    }

    pub fn insert(&self, number: u32) {
        self.0.fetch_or(Self::bit(number), Ordering::Relaxed);
    }

    /// Whether it was there.
    pub fn remove(&self, number: u32) -> bool {
        self.0.fetch_and(!Self::bit(number), Ordering::Relaxed) & Self::bit(number) != 0
    }

    pub fn contains(&self, number: u32) -> bool {
        self.bits() & Self::bit(number) != 0
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bits() == 0
    }

    /// The lowest number, if there is any.
    pub fn first(&self) -> Option<u32> {
        let bits = self.bits();
        (bits != 0).then(|| bits.trailing_zeros() + 1)
    }

    /// Number 1 is the lowest bit.
    #[inline]
    pub fn bits(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<W: World> State<W> {
    /// The interruption that the schedule brings to the thread now. `waiting`: it is in the middle of a wait.
    fn due(&mut self, conductor: &Conductor<W>, thread: &Thread<W::Row>, waiting: bool) -> Option<RecordedInterrupt> {
        if thread.replay.interrupt_at.get() > thread.position() {
            return None;
        }
        let interrupt = self.policy.replay()?.interrupt(thread.replay.scheduled_as.get())?;
        let here = match interrupt.place {
            ThreadActivity::Running => !waiting,
            ThreadActivity::Waiting => waiting,
            ThreadActivity::Anywhere => true,
        };
        // A call outside may unblock it for as long as it lasts. A timer that is not armed does not fire, whatever the
        // schedule says: that is what keeps a steered run one that the program could do.
        let comes = here
            && (thread.status() == Status::Outside || conductor.world.takes(thread, interrupt.number))
            && (!interrupt.timer || self.timers.may_fire(interrupt.number));
        comes.then_some(interrupt)
    }

    /// Whether the schedule brings an interruption to a thread that does not run.
    pub(crate) fn is_due(&mut self, conductor: &Conductor<W>, thread: &Thread<W::Row>) -> bool {
        let waiting = thread.status() != Status::Ready;
        thread.replay.interrupt_at.get() != NEVER && self.due(conductor, thread, waiting).is_some()
    }

    /// Brings what is due. `current`: who holds the token.
    pub(crate) fn bring(
        &mut self,
        conductor: &Conductor<W>,
        thread: &Thread<W::Row>,
        waiting: bool,
        current: Option<&Thread<W::Row>>,
    ) {
        while let Some(interrupt) = self.due(conductor, thread, waiting) {
            if let Some(replay) = self.policy.replay() {
                replay.brought(thread.replay.scheduled_as.get());
            }
            self.look_ahead(thread);
            let timer = if interrupt.timer { self.timers.take(interrupt.number) } else { None };
            if let Some((_, deadline)) = timer {
                self.timers.ticked(thread.is_blocked());
                self.jump(deadline, current);
            }
            thread.replay.ordered.set(thread.replay.ordered.get() | 1 << (interrupt.number - 1));
            conductor.world.interrupt(thread, interrupt.number, timer.as_ref().map(|(timer, _)| timer));
        }
    }

    /// Notes where the thread's next interruption comes.
    pub(crate) fn look_ahead(&mut self, thread: &Thread<W::Row>) {
        let next = self.policy.replay().and_then(|replay| replay.interrupt(thread.replay.scheduled_as.get()));
        thread.replay.interrupt_at.set(next.map_or(NEVER, |interrupt| interrupt.position));
    }
}
