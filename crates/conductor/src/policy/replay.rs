//! Follows a schedule; after its end, or where the run leaves it (which is said once), goes on by [active
//! testing](super::active) if the launcher plans a meeting, otherwise by quantum, beginning with whoever runs: a
//! schedule that ends early means no preemption.

use super::meeting::MeetingPlan;
use super::{Active, Choice, Next, Policy, Quantum, Runner, View};
use crate::shared::{self, Region};
use crate::thread::NO_THREAD;
use reweave_model::{InputSource, Schedule, ThreadName};
use std::sync::atomic::Ordering;

const REVOKED: u32 = 1 << 31;
const AT_ONCE: u32 = 1 << 30;
/// In place of the source of an input: the thread had to wait for the world outside.
pub const WAITED: u8 = u8::MAX;
/// A plan for a meeting follows the inputs.
const PLAN: u32 = 1;
/// The inputs are those of this very schedule, waits for the world outside among them.
const EXACT: u32 = 2;
/// What came from the world outside is played back.
const PLAYS: u32 = 4;

/// Whose inputs a schedule comes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inputs {
    /// Those of a run with another schedule.
    Others,
    /// Of this very schedule, waits for the world outside among them. What comes from there comes from whoever is there
    /// now, who may do something else than in the recorded run.
    Own,
    /// Likewise, and everybody does what they did: what came from outside is played back.
    OwnPlayedBack,
}

/// An outside input of the recorded run. Of a wait ([`WAITED`]) the value is 1 if its time ran out.
pub struct RecordedInput {
    pub thread: u32,
    pub source: u8,
    pub value: i64,
    pub bytes: Vec<u8>,
}

/// What a thread was doing when an interruption came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ThreadActivity {
    Running = 0,
    /// In an operation that waits.
    Waiting = 1,
    /// Another handler had just returned: whatever came before that.
    Anywhere = 2,
}

/// An interruption of the recorded run that came by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedInterrupt {
    pub thread: u32,
    pub number: u32,
    /// From a timer; else from outside.
    pub timer: bool,
    pub place: ThreadActivity,
    /// How far the thread had come, see [`Thread::position`](crate::Thread::position).
    pub position: u64,
}

/// Bytes of the header, and of an interrupt.
const HEADER: usize = 24;
const INTERRUPT: usize = 24;

/// The bytes behind the chunks of the shared region.
pub fn encode(
    schedule: &Schedule,
    inputs: &[RecordedInput],
    interrupts: &[RecordedInterrupt],
    whose: Inputs,
    plan: Option<&MeetingPlan>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut word = |value: u32| out.extend_from_slice(&value.to_le_bytes());
    word(schedule.threads.len() as u32);
    word(schedule.segments.len() as u32);
    word(inputs.len() as u32);
    let exact = match whose {
        Inputs::Others => 0,
        Inputs::Own => EXACT,
        Inputs::OwnPlayedBack => EXACT | PLAYS,
    };
    word(if plan.is_some() { PLAN } else { 0 } | exact);
    word(interrupts.len() as u32);
    word(0);
    for thread in &schedule.threads {
        word(thread.parent);
        word(thread.nth);
    }
    for segment in &schedule.segments {
        word(segment.thread.0);
        assert!(segment.steps < AT_ONCE, "a segment of 2^30 steps");
        let revoked = if segment.revoked { REVOKED } else { 0 };
        word(segment.steps | revoked | if segment.at_once { AT_ONCE } else { 0 });
    }
    for interrupt in interrupts {
        word(interrupt.thread);
        word(interrupt.number);
        word(interrupt.timer.into());
        word(interrupt.place as u32);
        word(interrupt.position as u32);
        word((interrupt.position >> 32) as u32);
    }
    for input in inputs {
        let mut word = |value: u32| out.extend_from_slice(&value.to_le_bytes());
        word(input.thread);
        word(u32::from(input.source));
        word(input.value as u32);
        word((input.value >> 32) as u32);
        word(input.bytes.len() as u32);
        word(0);
        out.extend_from_slice(&input.bytes);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    out.extend(plan.map(MeetingPlan::encode).unwrap_or_default());
    out
}

/// How a wait for the world outside went in the recorded run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordedWaitEnd {
    /// At once.
    WasReady,
    /// After a while.
    BecameReady,
    TimedOut,
}

pub struct Replay {
    region: Region,
    threads: Vec<ThreadName>,
    /// Byte offset of the segments, and how many.
    segments: usize,
    count: usize,
    next: usize,
    /// Per scheduled thread: offsets of its inputs still to come, last first.
    inputs: Vec<Vec<usize>>,
    /// Waits for the world outside are among them.
    exact: bool,
    /// What came from the world outside is played back.
    plays: bool,
    /// Likewise its interruptions.
    interrupts: Vec<Vec<RecordedInterrupt>>,
    rest: Box<dyn Policy>,
    /// Whether `rest` is to bring about a meeting.
    plans_meeting: bool,
    diverged: bool,
    /// Steps that each scheduled thread has done beyond its segments, because no other could come in between.
    ahead: Vec<u32>,
    /// Whether the last choice was the schedule's.
    scheduled: bool,
    /// The thread of the current segment stopped with so many steps to go: it was the one to go on.
    unfinished: Option<(u32, u32)>,
}

impl Replay {
    pub fn new(region: Region) -> Self {
        let header = region.header();
        let mut replay = Self {
            region,
            threads: Vec::new(),
            segments: HEADER,
            count: 0,
            next: 0,
            inputs: Vec::new(),
            exact: false,
            plays: false,
            interrupts: Vec::new(),
            rest: Box::new(Quantum::new(header.quantum, 0, 0)),
            plans_meeting: false,
            diverged: false,
            ahead: Vec::new(),
            scheduled: false,
            unfinished: None,
        };
        let threads = replay.word(0) as usize;
        replay.count = replay.word(4) as usize;
        let (inputs, interrupts) = (replay.word(8), replay.word(16));
        for i in 0..threads {
            let name = ThreadName { parent: replay.word(HEADER + i * 8), nth: replay.word(HEADER + 4 + i * 8) };
            replay.threads.push(name);
        }
        replay.segments = HEADER + threads * 8;
        replay.inputs = vec![Vec::new(); threads];
        replay.interrupts = vec![Vec::new(); threads];
        replay.ahead = vec![0; threads];
        let mut at = replay.segments + replay.count * 8;
        for _ in 0..interrupts {
            let interrupt = replay.interrupt_at(at);
            if let Some(list) = replay.interrupts.get_mut(interrupt.thread as usize) {
                list.push(interrupt);
            }
            at += INTERRUPT;
        }
        replay.interrupts.iter_mut().for_each(|list| list.reverse());
        for _ in 0..inputs {
            let thread = replay.word(at) as usize;
            if let Some(list) = replay.inputs.get_mut(thread) {
                list.push(at);
            }
            at = (at + 24 + replay.word(at + 16) as usize).next_multiple_of(8);
        }
        replay.inputs.iter_mut().for_each(|list| list.reverse());
        replay.exact = replay.word(12) & EXACT != 0;
        replay.plays = replay.word(12) & PLAYS != 0;
        if replay.word(12) & PLAN != 0 {
            let len = (header.schedule_bytes as usize).saturating_sub(at);
            // SAFETY: the launcher put it behind the inputs; the region stays mapped.
            let plan = unsafe { std::slice::from_raw_parts(region.schedule().add(at), len) };
            replay.rest = Box::new(Active::new(region, plan));
            replay.plans_meeting = true;
        }
        replay
    }

    fn word(&self, at: usize) -> u32 {
        // SAFETY: the launcher wrote a whole schedule there before the target started.
        unsafe { self.region.schedule().add(at).cast::<u32>().read_unaligned() }
    }

    fn interrupt_at(&self, at: usize) -> RecordedInterrupt {
        RecordedInterrupt {
            thread: self.word(at),
            number: self.word(at + 4),
            timer: self.word(at + 8) != 0,
            place: match self.word(at + 12) {
                0 => ThreadActivity::Running,
                1 => ThreadActivity::Waiting,
                _ => ThreadActivity::Anywhere,
            },
            position: u64::from(self.word(at + 16)) | u64::from(self.word(at + 20)) << 32,
        }
    }

    /// Index in the schedule of the `nth` child of the thread with index `parent`.
    pub fn index_of(&self, parent: u32, nth: u32) -> u32 {
        let name = ThreadName { parent, nth };
        self.threads.iter().position(|t| *t == name).map_or(NO_THREAD, |i| i as u32)
    }

    /// Still following the schedule?
    pub fn following(&self) -> bool {
        !self.diverged && self.next <= self.count
    }

    /// Whether the schedule has more to say.
    pub(crate) fn is_due(&self) -> bool {
        !self.diverged && (self.next < self.count || self.unfinished.is_some())
    }

    /// Whether what runs now does so by the schedule, to the end of its last segment.
    pub(crate) fn is_steering(&self) -> bool {
        !self.diverged && (self.scheduled || self.is_due())
    }

    /// Whether that is the schedule of a recorded run, with all that came to it.
    pub(crate) fn repeats(&self) -> bool {
        self.exact && self.is_steering()
    }

    pub(crate) fn plays_back(&self) -> bool {
        self.plays && self.is_steering()
    }

    /// Whether the recorded run took the token from the thread of the current segment.
    pub(crate) fn is_revoked(&self) -> bool {
        self.marks_current(REVOKED)
    }

    /// Whether the thread of the current segment made way right after its last step.
    pub(crate) fn is_at_once(&self) -> bool {
        self.scheduled && !self.diverged && self.marks_current(AT_ONCE)
    }

    fn marks_current(&self, bit: u32) -> bool {
        let current = self.next.checked_sub(1);
        current.is_some_and(|current| self.word(self.segments + current * 8 + 4) & bit != 0)
    }

    /// The next interruption that the schedule brings this thread.
    pub(crate) fn interrupt(&self, scheduled_as: u32) -> Option<RecordedInterrupt> {
        self.interrupts.get(scheduled_as as usize)?.last().copied().filter(|_| self.is_steering())
    }

    /// That interruption is with the thread.
    pub(crate) fn brought(&mut self, scheduled_as: u32) {
        if let Some(list) = self.interrupts.get_mut(scheduled_as as usize) {
            list.pop();
        }
    }

    /// The next input recorded for this thread.
    pub fn input(&mut self, scheduled_as: u32, source: u8) -> Option<(i64, &'static [u8])> {
        if self.diverged {
            return None;
        }
        let at = *self.inputs.get(scheduled_as as usize)?.last()?;
        if self.word(at + 4) != u32::from(source) {
            if source == InputSource::Clock as u8 {
                // Not part of the schedule: virtual time as it is.
                return None;
            }
            self.diverge(shared::DIVERGED_INPUT, scheduled_as);
            return None;
        }
        self.inputs[scheduled_as as usize].pop();
        let value = u64::from(self.word(at + 8)) | u64::from(self.word(at + 12)) << 32;
        let len = self.word(at + 16) as usize;
        // SAFETY: the region stays mapped for the life of the process.
        let bytes = unsafe { std::slice::from_raw_parts(self.region.schedule().add(at + 24), len) };
        Some((value as i64, bytes))
    }

    /// Whether the recorded run had to wait for the world outside here, and whether in vain. `None`: nobody knows.
    pub fn waited(&mut self, scheduled_as: u32) -> Option<RecordedWaitEnd> {
        if self.diverged || !self.exact {
            return None;
        }
        let inputs = self.inputs.get_mut(scheduled_as as usize)?;
        let at = *inputs.last()?;
        if self.word(at + 4) != u32::from(WAITED) {
            return Some(RecordedWaitEnd::WasReady);
        }
        self.inputs[scheduled_as as usize].pop();
        Some(if self.word(at + 8) == 0 { RecordedWaitEnd::BecameReady } else { RecordedWaitEnd::TimedOut })
    }

    fn diverge(&mut self, why: u32, thread: u32) {
        self.diverged = true;
        let header = self.region.header();
        header.diverged_segment.store(self.next as u32, Ordering::Relaxed);
        header.diverged_thread.store(thread, Ordering::Relaxed);
        header.diverged.store(why, Ordering::Release);
    }

    /// A thread does a step that its segment does not have: its next segment will be shorter.
    pub fn ran_ahead(&mut self, scheduled_as: u32) {
        if let Some(ahead) = self.ahead.get_mut(scheduled_as as usize) {
            *ahead += 1;
        }
    }

    /// The holder stopped with `left` steps of its segment undone. Then it was the one to go on in the recorded run
    /// too: after a timeout, say, or when its own wait was over at once.
    pub fn stopped_short(&mut self, thread: u32, left: u32) {
        self.unfinished = (left > 0 && self.scheduled && !self.diverged).then_some((thread, left));
    }
}

impl Policy for Replay {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        if let Some((thread, steps)) = self.unfinished {
            match view.candidates.iter().find(|c| c.id == thread) {
                Some(c) if c.enabled || c.timed => {
                    self.unfinished = None;
                    return Choice::Run { thread, steps };
                }
                Some(c) if c.outside && self.region.header().give_up.swap(0, Ordering::Relaxed) == 0 => {
                    return Choice::WaitFor { thread };
                }
                _ => {
                    self.unfinished = None;
                    self.diverge(shared::DIVERGED_SHORT, thread);
                }
            }
        }
        while !self.diverged && self.next < self.count {
            let at = self.segments + self.next * 8;
            let (index, steps) = (self.word(at), self.word(at + 4) & (AT_ONCE - 1));
            let ahead = self.ahead.get_mut(index as usize);
            let done = ahead.map_or(0, |ahead| {
                let done = steps.min(*ahead);
                *ahead -= done;
                done
            });
            if steps == done {
                self.next += 1;
                continue;
            }
            let due = view.candidates.iter().find(|c| c.scheduled_as == index);
            match due {
                Some(c) if c.enabled || c.timed => {
                    self.next += 1;
                    self.scheduled = true;
                    return Choice::Run { thread: c.id, steps: steps - done };
                }
                Some(c) if c.outside && self.region.header().give_up.swap(0, Ordering::Relaxed) == 0 => {
                    self.ahead[index as usize] += done;
                    return Choice::WaitFor { thread: c.id };
                }
                _ => self.diverge(shared::DIVERGED_NOT_ENABLED, index),
            }
        }
        let ends = std::mem::take(&mut self.scheduled);
        if ends && !self.plans_meeting && !view.yielded && view.enabled().any(|c| c.id == view.current) {
            return Choice::Run { thread: view.current, steps: self.region.header().quantum.max(1) };
        }
        self.rest.pick(view)
    }

    fn preempt_at_sync(&mut self) -> bool {
        !self.is_due() && self.rest.preempt_at_sync()
    }

    fn passes(&mut self, who: Runner, next: &Next) -> bool {
        !self.is_due() && self.rest.passes(who, next)
    }

    fn creates(&mut self, who: Runner, object: u64) {
        self.rest.creates(who, object);
    }

    fn takes(&mut self, who: Runner, lock: u64, pc: u64) {
        self.rest.takes(who, lock, pc);
    }

    fn gives(&mut self, who: Runner, lock: u64) {
        self.rest.gives(who, lock);
    }

    fn module(&mut self, base: u64, size: u64, bias: u64, path: &[u8]) {
        self.rest.module(base, size, bias, path);
    }

    fn replay(&mut self) -> Option<&mut Replay> {
        Some(self)
    }
}
