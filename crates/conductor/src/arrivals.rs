//! Signals that come by themselves, from timers and from outside. In a recorded run they come when they come; a schedule that is
//! followed says at which of its own steps a thread took them, and there they are brought, like other outside inputs. In an exact
//! replay those that arrive meanwhile are left to that: the front end drops them ([`Conductor::repeats`]). In another order of
//! steps only those of timers are brought: what made somebody outside send one may not have happened yet.
//!
//! Signals that the program sends itself need none of it: they come where they are sent.

use crate::conductor::Conductor;
use crate::policy::replay::{Place, RecordedSignal};
use crate::thread::{NEVER, Status, Thread};

/// The channel of a signal that the program sends: whoever sends it comes before whoever handles it. Below any mapped address.
pub const fn signal_channel(number: u32) -> u64 {
    0x100 + number as u64
}

/// The channel of a timer's signal: whoever arms it comes before whoever handles it.
pub const fn timer_channel(number: u32) -> u64 {
    0x200 + number as u64
}

/// Whether a channel is one of those.
pub const fn is_timer_channel(channel: u64) -> bool {
    channel > timer_channel(0) && channel <= timer_channel(64)
}

impl Conductor {
    /// Whether a recorded run is repeated step by step, and with it the signals that come.
    pub fn repeats(&mut self) -> bool {
        self.policy.replay().is_some_and(|replay| replay.repeats())
    }

    /// Whether what came to the recorded run through descriptors is played back, too.
    pub fn plays_back(&mut self) -> bool {
        self.policy.replay().is_some_and(|replay| replay.plays_back())
    }

    /// The signal that the schedule brings to the thread now. `waiting`: it is in the middle of a wait.
    fn due(&mut self, thread: &Thread, waiting: bool) -> Option<RecordedSignal> {
        if thread.signal_at > thread.position() {
            return None;
        }
        let signal = self.policy.replay()?.signal(thread.scheduled_as)?;
        let here = match signal.place {
            Place::Running => !waiting,
            Place::Waiting => waiting,
            Place::Anywhere => true,
        };
        // A call outside may unblock it for as long as it lasts. A timer that is not armed does not fire, whatever the schedule
        // says: that is what keeps a steered run one that the program could do.
        let comes = here
            && (thread.status == Status::Outside || self.world.takes(thread, signal.number))
            && (!signal.timer || self.timers.may_fire(signal.number));
        comes.then_some(signal)
    }

    /// Whether the schedule brings a signal to a thread that does not run.
    pub(crate) fn is_due(&mut self, thread: &Thread) -> bool {
        let waiting = thread.status != Status::Ready;
        thread.signal_at != NEVER && self.due(thread, waiting).is_some()
    }

    /// Brings what is due. `current`: who holds the token.
    pub(crate) fn bring(&mut self, thread: &mut Thread, waiting: bool, current: u32) {
        while let Some(signal) = self.due(thread, waiting) {
            if let Some(replay) = self.policy.replay() {
                replay.brought(thread.scheduled_as);
            }
            self.look_ahead(thread);
            let timer = if signal.timer { self.timers.take(signal.number) } else { None };
            if let Some((_, deadline)) = timer {
                self.timers.ticked(thread);
                self.jump(deadline, current);
            }
            thread.ordered |= 1 << (signal.number - 1);
            self.world.signal(thread, signal.number, timer.as_ref().map(|(timer, _)| timer));
        }
    }

    /// Notes where the thread's next signal comes.
    pub(crate) fn look_ahead(&mut self, thread: &mut Thread) {
        let next = self.policy.replay().and_then(|replay| replay.signal(thread.scheduled_as));
        thread.signal_at = next.map_or(NEVER, |signal| signal.position);
    }

    /// The thread, which runs, has come to where the schedule may bring it a signal; others may come first.
    pub fn meet_signal(&mut self, thread: &mut Thread) {
        if thread.signal_at <= thread.position() {
            self.point(thread);
            self.bring(thread, false, thread.id);
        }
    }

    /// The same in an operation that could have to wait: one that waited in the recorded run need not in another, and takes
    /// its signal all the same.
    pub fn is_interrupted(&mut self, thread: &mut Thread) -> bool {
        if thread.signal_at <= thread.position() {
            self.bring(thread, true, thread.id);
        }
        thread.signals.bits() & thread.ordered != 0
    }
}
