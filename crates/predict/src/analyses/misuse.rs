//! Misuse of synchronization that the recorded run shows: unlocking what one does not hold, locking twice, destroying
//! what is held, joining or freeing twice, and threads that ended and were neither joined nor detached. The last is a
//! mere potential finding, as the end of the process takes care of them, unless the program goes on creating such
//! threads: a leak that grows. Of threads that somebody was about to join when the process ended nothing is said.
//!
//! Exact for the recorded run, and about nothing else: what other interleavings would misuse is not looked for, except
//! by [`destroyed`](super::destroyed). An error-checking mutex that refuses a second lock is used as it is meant to be;
//! unlocking what one does not hold is misuse of any mutex.

use reweave_model::{
    BlockedOn, Event, EventId, Finding, Kind, Misuse, MutexKind, ObjectId, ObjectKind, Op, Pc, Strength, ThreadId,
};
use reweave_trace::{Footer, Outcome, PARTIAL, Result};

use crate::analysis::{About, Analysis, Guarantee};
use crate::linear::{Access, Candidates, FastMap, Linear, Misused, Sync, Thread, Touch, Word};
use crate::prediction::{Prediction, accessors};

/// The analysis `misuse`.
pub struct MisuseOfSynchronization;

impl Analysis for MisuseOfSynchronization {
    fn about(&self) -> About {
        let summary = "unlocking what is not held, locking twice, destroying what is held, threads never joined";
        About::new("misuse", Kind::Misuse, Guarantee::Recorded, summary).by_default()
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<Misuses>::default())
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        let Some(listed) = prediction.listed(self.id()) else { return Ok(()) };
        // A run that hung, crashed or was cut off did not come to its joins.
        let whole =
            |footer: &Footer| matches!(footer.outcome, Outcome::Exited { .. }) && !footer.other.contains_key(PARTIAL);
        // So did one of which only a part was read.
        let ended = prediction.trace.footer().is_some_and(whole) && !prediction.is_cut_short();
        let ended = ended && !prediction.trace.language().threads_need_no_join;
        let is_unjoined = |misused: &Misused| misused.what.is_none();
        let misused: Vec<Misused> =
            listed.misuses.iter().filter(|misused| ended || !is_unjoined(misused)).copied().collect();
        let accessors = accessors(prediction.trace, misused.iter().map(|misused| misused.event).collect())?;
        for misused in misused {
            let Some(accessor) = accessors.get(&misused.event) else { continue };
            let sure = !is_unjoined(&misused) || misused.grows;
            let strength = if sure { Strength::Confirmed } else { Strength::Potential };
            let finding = Finding::new(Kind::Misuse, strength, self.id(), vec![accessor.clone()]);
            prediction.answer.findings.push(finding);
        }
        Ok(())
    }
}

/// Threads of one place in the code that come after an earlier one had ended and its creator had waited for something,
/// and are not joined either: so many are a leak that grows, not a few that the end of the process takes care of.
const GROWING: usize = 3;

/// More misuses than this are counted.
const MAX_FOUND: usize = 1 << 12;

#[derive(Clone, Copy)]
struct Child {
    parent: ThreadId,
    fork: EventId,
    pc: Pc,
    ended: Option<EventId>,
    awaited: bool,
    /// How often its creator had waited for something before.
    waits: u32,
}

#[derive(Default)]
pub struct Misuses {
    /// By code position and kind, the first.
    found: Vec<Misused>,
    seen: FastMap<(u64, u64), ()>,
    children: FastMap<u32, Child>,
    /// Mutexes that check for errors.
    checking: FastMap<ObjectId, ()>,
    /// By thread: a lock that it locks a second time.
    twice: FastMap<u32, (ObjectId, Misused)>,
    /// Threads that wait: another one that ends the process keeps them from what they still had to do.
    waiting: FastMap<u32, ()>,
    /// Threads that wait for the end of another.
    joining: FastMap<u32, u32>,
    /// How often each thread has waited for something.
    waits: FastMap<u32, u32>,
    /// Threads that have ended.
    over: FastMap<u32, ()>,
    /// Who ended the process.
    exits: Option<ThreadId>,
    dropped: u64,
}

impl Misuses {
    fn add(&mut self, misused: Misused, kind: u64) {
        if self.seen.insert((misused.pc.0, kind), ()).is_some() {
            return;
        }
        if self.found.len() < MAX_FOUND {
            self.found.push(misused);
        } else {
            self.dropped += 1;
        }
    }

    /// Threads that ended and nobody waits for: the first of each place, and whether there are more and more of them.
    fn unjoined(&self) -> Vec<(EventId, Pc, bool)> {
        // Its creator may be on its way to join it: it waits, or somebody else ended the process.
        let kept_from_it = |parent: ThreadId| {
            let ended_by_another = self.exits.is_some_and(|exits| exits != parent);
            self.waiting.contains_key(&parent.0) || ended_by_another && !self.over.contains_key(&parent.0)
        };
        let awaited: FastMap<u32, ()> = self.joining.values().map(|&child| (child, ())).collect();
        let left = self.children.iter().filter(|(id, child)| {
            child.ended.is_some() && !child.awaited && !awaited.contains_key(id) && !kept_from_it(child.parent)
        });
        let mut left: Vec<Child> = left.map(|(_, child)| *child).collect();
        left.sort_unstable_by_key(|child| (child.pc.0, child.fork));
        let goes_on = |two: &[Child]| two[0].waits < two[1].waits && two[0].ended < Some(two[1].fork);
        let places = left.chunk_by(|one, other| one.pc == other.pc);
        let mut first: Vec<_> = places
            .map(|same| (same[0].fork, same[0].pc, same.windows(2).filter(|two| goes_on(two)).count() >= GROWING))
            .collect();
        first.sort_unstable_by_key(|(fork, ..)| *fork);
        first
    }

    fn child(&mut self, child: ThreadId) -> Option<&mut Child> {
        self.children.get_mut(&child.0)
    }
}

impl Linear for Misuses {
    fn access(&mut self, _: &Access, _: &[Touch]) {}

    fn accesses(&mut self, _: &[(Access, Touch)]) {}

    fn left_out(&mut self, _: u64) {}

    fn event(&mut self, event: &Event<'_>, _: Thread) {
        if matches!(event.op, Op::Blocked { .. } | Op::Wait { .. } | Op::BarrierArrive { .. } | Op::Leave { .. }) {
            self.waiting.insert(event.thread.0, ());
        } else {
            self.waiting.remove(&event.thread.0);
            self.joining.remove(&event.thread.0);
        }
        if matches!(
            event.op,
            Op::Blocked { .. }
                | Op::Wait { .. }
                | Op::SemaphoreTake { .. }
                | Op::Receive { .. }
                | Op::Input { .. }
                | Op::Leave { .. }
                | Op::Join { .. }
        ) {
            *self.waits.entry(event.thread.0).or_default() += 1;
        }
        match event.op {
            Op::Misused { what: Misuse::DoubleLock, object } if self.checking.contains_key(&object) => {}
            Op::Misused { what, object } => {
                let misused = Misused { event: event.id, pc: event.pc, what: Some(what), grows: false };
                match what {
                    // Only whoever is stuck then; a check would have refused it.
                    Misuse::DoubleLock => drop(self.twice.insert(event.thread.0, (object, misused))),
                    _ => self.add(misused, what as u64),
                }
            }
            Op::Blocked { on: BlockedOn::Join, object } => drop(self.joining.insert(event.thread.0, object.0 as u32)),
            Op::Blocked { object, .. } => {
                if let Some((_, misused)) = self.twice.remove(&event.thread.0).filter(|(twice, _)| *twice == object) {
                    self.add(misused, Misuse::DoubleLock as u64);
                }
            }
            Op::Create { object, kind: ObjectKind::Mutex, value } => match MutexKind::of_value(value) {
                MutexKind::ErrorChecking => drop(self.checking.insert(object, ())),
                _ => drop(self.checking.remove(&object)),
            },
            Op::Fork { child, .. } => {
                let (parent, fork, pc) = (event.thread, event.id, event.pc);
                let waits = self.waits.get(&parent.0).copied().unwrap_or(0);
                self.children.insert(child.0, Child { parent, fork, pc, ended: None, awaited: false, waits });
            }
            Op::End => {
                self.over.insert(event.thread.0, ());
                if let Some(child) = self.child(event.thread) {
                    child.ended = Some(event.id);
                }
            }
            Op::Exit { .. } => self.exits = Some(event.thread),
            Op::Join { child } | Op::Detach { child } => {
                if let Some(child) = self.child(child) {
                    child.awaited = true;
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, _: EventId, _: Thread, _: Sync) {}

    fn forget(&mut self, _: Word) {}

    fn finish(&mut self) -> Candidates {
        for (fork, pc, grows) in self.unjoined() {
            self.add(Misused { event: fork, pc, what: None, grows }, u64::MAX);
        }
        let misuses = std::mem::take(&mut self.found);
        Candidates { misuses, dropped: self.dropped, ..Candidates::default() }
    }
}
