//! From a trace to [`History`]: what reorderings need to know of it, and nothing else.
//!
//! **Left out**, because no reordering can tell the difference: accesses to memory that one thread alone uses, or that
//! nobody writes, within the window. In every reordering a valid thread reads there what it read in the trace. The
//! guard of an event left out passes to the next one of its thread.
//!
//! **Windows.** A long trace comes as overlapping windows of kept events. What was so before the window (locks held,
//! waits begun, barriers arrived at) stands as events without a number at its start; see [`world`]. A reordering of a
//! window is one of the trace: everything before runs as it did.
//!
//! In traces without branches (STD) every event is guarded, the accesses in question too: what they access may depend
//! on any read before them. Only their own reads are free.
//!
//! Conservative where the trace cannot tell: the sends of one channel keep their order, and so do its receives; a
//! wake-up of a raw futex follows its wake; onces keep their order. What memory holds at the start of a window is known
//! from the first read or, for globals at the start of the trace, from the program's file; otherwise it is taken to be
//! like no other value.

mod buffer;
mod build;
mod cells;
mod quick;
mod sharing;
mod stretch;
mod world;

use reweave_model::wire::kind;
use reweave_model::{EventId, OpName, Pc, StackId};
use reweave_trace::{Result, Symbols, Trace};

use crate::history::{History, Pos, Val};
pub(crate) use buffer::steps;
use buffer::{Buffer, Kept};
pub use quick::{Left, Unlowered};
use sharing::Sharing;
pub use stretch::Stretch;
use world::World;

/// Where a step of a history comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Origin {
    pub pc: Pc,
    pub stack: StackId,
    /// What it is called.
    pub op: OpName,
    /// How many steps of a schedule its thread has done with this one.
    pub steps: u64,
}

/// The end of an object's life, within a stretch.
#[derive(Clone, PartialEq, Debug)]
pub struct Destroyed {
    pub pos: Pos,
    pub object: reweave_model::ObjectId,
    /// A call began this life; otherwise nobody knows where an earlier one at the same address ends.
    pub created: bool,
    /// What was done to the object in this life, as far as it comes too late after the end.
    pub uses: Vec<Pos>,
    /// Where this life began, if another thread began it.
    pub born: Option<Pos>,
    /// The last uses by other threads: the end follows them in the history, because a reordering is one in which
    /// nothing is used too late.
    pub follows: Vec<Pos>,
}

/// A stretch of a trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Lowered {
    pub history: History,
    /// For each step of the history.
    pub origins: Vec<Origin>,
    /// The threads of the history in the trace; the last is the outside world, which has none.
    pub threads: Vec<Option<reweave_model::ThreadId>>,
    /// Whether each thread ends within this stretch (the outside world has no end to wait for).
    pub ended: Vec<bool>,
    /// Everything before this event is as it was.
    pub start: EventId,
    /// Whether it begins, and whether it ends, where the trace does.
    pub first: bool,
    pub last: bool,
    /// The known values of up to eight bytes, by [`Val`].
    pub words: Vec<Option<u64>>,
    pub destroyed: Vec<Destroyed>,
    /// If threads were blocked when the trace ended: the same with what they were about to do, which never happened. So
    /// its observed order is feasible only up to there.
    pub blocked: Option<Box<Lowered>>,
}

impl Lowered {
    /// What a value is, if that is known and no longer than a word.
    pub fn word(&self, value: Val) -> Option<u64> {
        self.words.get(value.index()).copied().flatten()
    }

    pub fn origin(&self, pos: Pos) -> &Origin {
        &self.origins[pos.index()]
    }
}

/// The windows of a trace, one after the other.
pub struct Windows<'t> {
    trace: &'t Trace,
    events: reweave_trace::Events<'t>,
    sharing: Sharing,
    buffer: Buffer,
    /// As of the first event of `kept`.
    world: World,
    kept: Vec<Kept>,
    /// Kept events per window, at most.
    size: usize,
    /// All of the trace has been read.
    ended: bool,
    /// Nothing lies before `kept`.
    first: bool,
    /// There was a window already.
    given: bool,
}

/// Whether somebody wants a window.
pub type Wanted<'w> = dyn Fn(&Unlowered<'_>) -> bool + 'w;

impl<'t> Windows<'t> {
    /// Reads the trace once to see what is shared; `go_on` is asked now and then (with how far it is, from 0 to 1) and
    /// may say no, then there are no windows. `size`: kept events per window; consecutive windows have half of them in
    /// common.
    pub fn new(trace: &'t Trace, size: usize, go_on: &mut dyn FnMut(f64) -> bool) -> Result<Self> {
        let mut sharing = Sharing::default();
        let initial = initial(trace);
        let mut events = trace.events();
        let (mut seen, mut ended) = (0u64, false);
        loop {
            if let Some(access) = events.next_access() {
                sharing.access(&access, initial);
            } else if let Some(event) = events.next()? {
                sharing.event(&event, initial);
            } else {
                break;
            }
            seen += 1;
            if seen.is_multiple_of(1 << 16) && !go_on(seen as f64 / trace.event_count().max(1) as f64) {
                ended = true;
                break;
            }
        }
        let buffer = Buffer::new(trace);
        let events = trace.events();
        let (world, kept) = (World::default(), Vec::new());
        Ok(Self { trace, events, sharing, buffer, world, kept, size: size.max(2), ended, first: true, given: ended })
    }

    /// From the beginning, with windows of another size.
    pub fn restart(&mut self, size: usize) {
        self.events = self.trace.events();
        self.buffer = Buffer::new(self.trace);
        self.world = World::default();
        self.kept.clear();
        self.size = size.max(2);
        (self.ended, self.first, self.given) = (false, true, false);
    }

    /// How much of the trace has been read, from 0 to 1.
    pub fn progress(&self) -> f64 {
        self.events.progress()
    }

    /// Whether all of the trace has been read.
    pub fn is_over(&self) -> bool {
        self.ended
    }

    /// The next window. Not an iterator: reading can fail.
    pub fn next_window(&mut self) -> Result<Option<Lowered>> {
        Ok(self.next_window_if(&|_| true)?.and_then(|(_, window)| window))
    }

    /// The number of kept events of the next window, and the window itself if it is `wanted`.
    pub fn next_window_if(&mut self, wanted: &Wanted<'_>) -> Result<Option<(usize, Option<Lowered>)>> {
        if self.ended && self.given {
            return Ok(None);
        }
        if self.given {
            self.pass_by(self.size / 2);
        }
        self.given = true;
        self.fill()?;
        let is_wanted = wanted(&Unlowered { kept: &self.kept, world: &self.world });
        let window = is_wanted.then(|| self.build(self.kept.len()));
        Ok(Some((self.kept.len(), window)))
    }

    /// Whether one window holds all of the trace.
    pub fn is_one(&mut self) -> Result<bool> {
        self.fill()?;
        Ok(self.ended)
    }

    /// What lies between two events, them included, unless that is more than a window. None may begin before the
    /// last one did.
    pub fn between(&mut self, first: EventId, last: EventId) -> Result<Option<Lowered>> {
        Ok(self.reach(first, last)?.map(|until| self.build(until)))
    }

    /// The same, to be lowered by somebody else.
    pub fn stretch(&mut self, first: EventId, last: EventId) -> Result<Option<Stretch<'t>>> {
        Ok(self.reach(first, last)?.map(|_| self.part(first, last, 0)))
    }

    /// Begins with the first event, and says how many kept ones there are up to the last, unless that is more than a
    /// window.
    fn reach(&mut self, first: EventId, last: EventId) -> Result<Option<usize>> {
        self.pass_by(self.kept.partition_point(|kept| kept.id < first));
        while !self.ended && self.kept.len() <= self.size && self.kept.last().is_none_or(|kept| kept.id < last) {
            if let Some(kept) = self.next_kept(first)? {
                if kept.id < first {
                    self.world.event(&kept);
                } else {
                    self.kept.push(kept);
                }
            }
        }
        let until = self.kept.partition_point(|kept| kept.id <= last);
        Ok((until <= self.size).then_some(until))
    }

    /// A part of the present window: from one event to another, and so many kept events more.
    pub fn part(&self, first: EventId, last: EventId, more: usize) -> Stretch<'t> {
        let from = self.kept.partition_point(|kept| kept.id < first);
        let until = (self.kept.partition_point(|kept| kept.id <= last) + more).min(self.kept.len());
        let mut world = self.world.clone();
        self.kept[..from].iter().for_each(|kept| world.event(kept));
        let kept = self.kept[from..until.max(from)].to_vec();
        let (first, last) = (self.first && from == 0, self.ended && until == self.kept.len());
        Stretch { trace: self.trace, kept, world, first, last }
    }

    /// The first kept events are over.
    fn pass_by(&mut self, events: usize) {
        self.first &= events == 0;
        self.kept.drain(..events).for_each(|kept| self.world.event(&kept));
    }

    fn fill(&mut self) -> Result<()> {
        while !self.ended && self.kept.len() < self.size {
            let kept = self.next_kept(EventId(0))?;
            self.kept.extend(kept);
        }
        Ok(())
    }

    /// The next event if it is kept; nothing at the end. Accesses before the first that is wanted need not be kept.
    fn next_kept(&mut self, first: EventId) -> Result<Option<Kept>> {
        if let Some(access) = self.events.next_access() {
            let wants = access.id >= first;
            let (matters, kept) = self.buffer.access(&access, &self.sharing, wants);
            self.first &= wants || !matters;
            return Ok(kept);
        }
        let Some(event) = self.events.next()? else {
            self.ended = true;
            return Ok(None);
        };
        let wants = event.id >= first;
        let kept = self.buffer.event(&event, &self.sharing);
        self.first &= wants || kept.is_none();
        Ok(kept)
    }

    /// The window of the first kept events.
    fn build(&self, events: usize) -> Lowered {
        let initial = initial(self.trace).filter(|_| self.first);
        // Only then does nobody wait with a deadline.
        let hung = self.trace.count_of(kind::HANG).is_some_and(|count| count > 0);
        let last = self.ended && events == self.kept.len();
        let blocked = if last && hung { self.buffer.blocked() } else { Vec::new() };
        let mut window = build::build(&self.kept[..events], &blocked, &self.world, initial);
        (window.first, window.last) = (self.first, last);
        window
    }
}

/// What globals hold before the trace. A forked child starts with what its parent had.
fn initial(trace: &Trace) -> Option<&Symbols> {
    let forked = trace.meta().other.get("forked").is_some_and(|forked| forked.as_bool() == Some(true));
    (!forked).then(|| trace.symbols())
}

#[cfg(feature = "testing")]
/// The whole trace as one history.
pub fn whole(trace: &Trace) -> Result<Lowered> {
    let mut windows = Windows::new(trace, usize::MAX, &mut |_| true)?;
    Ok(windows.next_window()?.expect("there is a first window"))
}
