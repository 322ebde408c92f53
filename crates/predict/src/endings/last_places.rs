//! Where a failed run ended: the fatal signal, the exception that nobody caught, or what each thread waits for.

use std::collections::BTreeMap;

use reweave_model::{BlockedOn, Event, EventId, HeldLocks, ObjectId, Op, Pc, StackId, ThreadId};
use reweave_trace::{Outcome, Result, Trace};

use super::waits::{self, Wait, Waits};

/// Where a thread was when the run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastPlace {
    pub event: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    pub stack: StackId,
    /// Where each was acquired.
    pub locks_held: Vec<EventId>,
    pub act: LastAct,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastAct {
    Waits {
        on: BlockedOn,
        object: ObjectId,
        /// A thread of the parent process held the lock, and that thread is not part of this process.
        orphaned: bool,
    },
    /// It died by this signal.
    Signal(i32),
    /// It ended by an exception.
    Exception,
}

/// What there is to know about the signals of the system, and about the process.
#[derive(Clone, Copy, Debug)]
pub struct SignalKinds<'a> {
    /// Those that a thread causes itself: recorded if it holds the token.
    pub own: &'a [i32],
    /// The process began as a copy of another one, of which only one thread went on.
    pub forked: bool,
}

/// Where a run with this outcome ended.
///
/// # Errors
/// If the trace cannot be read.
pub fn last_places(trace: &Trace, outcome: &Outcome, signals: SignalKinds<'_>) -> Result<Vec<LastPlace>> {
    let mut reader = Reader::new(trace);
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        reader.event(&event);
    }
    Ok(match outcome {
        Outcome::Exited { status } if *status != 0 => reader.exception.into_iter().collect(),
        Outcome::Hung => reader.waiting(signals.forked),
        Outcome::Signalled { signal, .. } => reader.died(*signal, signals.own).into_iter().collect(),
        _ => Vec::new(),
    })
}

/// Threads that wait for locks of each other when the run is over, whatever others did then, with those that wait
/// behind them. Only where who waits for a lock waits until it has it.
///
/// # Errors
/// If the trace cannot be read.
pub fn circle(trace: &Trace) -> Result<Vec<LastPlace>> {
    let mut reader = Reader::new(trace);
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        reader.event(&event);
    }
    let mut places = reader.waiting(false);
    loop {
        let is_stuck = |place: &LastPlace| match place.act {
            LastAct::Waits { on: BlockedOn::LockExclusive | BlockedOn::LockShared, object, .. } => {
                let threads = places.iter().map(|other| other.thread);
                waits::is_held_by_other(&reader.held, threads, place.thread, object)
            }
            _ => false,
        };
        let stuck: Vec<LastPlace> = places.iter().filter(|place| is_stuck(place)).cloned().collect();
        if stuck.len() == places.len() {
            return Ok(places);
        }
        places = stuck;
    }
}

struct Reader<'t> {
    trace: &'t Trace,
    /// Each with the locks held by then.
    waits: Waits<Vec<EventId>>,
    held: HeldLocks<EventId>,
    fatal: Option<LastPlace>,
    /// The first that nobody caught: others may follow from it, and the program goes on.
    exception: Option<LastPlace>,
    /// The last place of each thread that has source.
    with_source: BTreeMap<ThreadId, LastPlace>,
    /// Where threads have left for a call that may block.
    outside: BTreeMap<ThreadId, LastPlace>,
    last_thread: ThreadId,
}

impl<'t> Reader<'t> {
    fn new(trace: &'t Trace) -> Self {
        Self {
            trace,
            waits: Waits::default(),
            held: HeldLocks::default(),
            fatal: None,
            exception: None,
            with_source: BTreeMap::new(),
            outside: BTreeMap::new(),
            last_thread: ThreadId(0),
        }
    }

    fn has_source(&self, pc: Pc) -> bool {
        self.trace.symbols().frames(pc).next().is_some_and(|frame| frame.line != 0)
    }

    fn place(&self, event: &Event<'_>, act: LastAct) -> LastPlace {
        let &Event { id, thread, pc, stack, .. } = event;
        LastPlace { event: id, thread, pc, stack, locks_held: locks_of(&self.held, thread), act }
    }

    fn event(&mut self, event: &Event<'_>) {
        if !event.op.is_step() && !matches!(event.op, Op::Fatal { .. }) {
            return;
        }
        let thread = event.thread;
        // Whoever waits has given the mutex up.
        self.held.follow(thread, &event.op, event.id);
        self.waits.see(event, || locks_of(&self.held, thread));
        let has_source = self.has_source(event.pc);
        if let Op::Fatal { number, .. } = event.op {
            let act = if number == 0 { LastAct::Exception } else { LastAct::Signal(number as i32) };
            let mut place = self.place(event, act);
            // Where the program itself was last says more than a place in a library without source.
            if let Some(last) = self.with_source.get(&thread).filter(|_| !has_source) {
                (place.pc, place.stack) = (last.pc, last.stack);
            }
            if act == LastAct::Exception {
                self.exception.get_or_insert(place);
            } else {
                self.fatal = Some(place);
            }
        }
        self.last_thread = thread;
        self.outside.remove(&thread);
        if has_source {
            let place = self.place(event, LastAct::Signal(0));
            if matches!(event.op, Op::Leave { .. }) {
                self.outside.insert(thread, place.clone());
            }
            self.with_source.insert(thread, place);
        }
    }

    /// What each thread waits for.
    fn waiting(&self, forked: bool) -> Vec<LastPlace> {
        let place = |wait: &Wait<Vec<EventId>>| {
            let &Wait { on, object, event, thread, pc, stack, ref note, .. } = wait;
            let orphaned = forked && wait.is_for_lock() && !self.held.is_held(object);
            let act = LastAct::Waits { on, object, orphaned };
            LastPlace { event, thread, pc, stack, locks_held: note.clone(), act }
        };
        self.waits.threads().filter_map(|thread| self.waits.now(thread)).map(place).collect()
    }

    /// Whoever dies holding the token says so. Otherwise it was in a call, or is known for nothing but what it did
    /// last; one that had ended already has no place at all.
    fn died(mut self, signal: i32, own: &[i32]) -> Option<LastPlace> {
        let outside = self.outside.into_values().next_back();
        let sent = || self.with_source.remove(&self.last_thread).filter(|_| !own.contains(&signal));
        let last = outside.or_else(sent).map(|place| LastPlace { act: LastAct::Signal(signal), ..place });
        self.fatal.or(last)
    }
}

/// Where the locks that a thread holds were acquired.
fn locks_of(held: &HeldLocks<EventId>, thread: ThreadId) -> Vec<EventId> {
    held.of(thread).iter().map(|(_, event)| *event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::LockMode;
    use reweave_trace::TraceBuilder;

    const SIGNALS: SignalKinds<'static> = SignalKinds { own: &[11], forked: false };

    #[test]
    fn threads_that_wait_for_each_other() {
        let acquire = |object| Op::Acquire { object: ObjectId(object), mode: LockMode::Exclusive, tried: false };
        let blocked = |object| Op::Blocked { on: BlockedOn::LockExclusive, object: ObjectId(object) };
        let found = |second_waits: bool| {
            let mut builder = TraceBuilder::default();
            builder.op(0, Op::Begin);
            for child in 1..=3 {
                builder.op(0, Op::Fork { child: ThreadId(child), nth: child - 1 }).op(child, Op::Begin);
            }
            builder.op(1, acquire(8)).op(2, acquire(9)).op(0, acquire(7)).op(1, blocked(9)).op(3, blocked(7));
            if second_waits {
                builder.op(2, blocked(8)).op(0, Op::Exit { status: 0 });
            }
            let places = circle(&builder.into_trace().expect("in memory")).expect("readable");
            places.iter().map(|place| place.thread.0).collect::<Vec<_>>()
        };
        assert!(found(false).is_empty(), "the second thread goes on");
        assert_eq!(found(true), [1, 2], "the third waits for one that goes on");
    }

    #[test]
    fn what_each_thread_waits_for() {
        let mut builder = TraceBuilder::default();
        let acquire = |object| Op::Acquire { object: ObjectId(object), mode: LockMode::Exclusive, tried: false };
        builder.op(0, Op::Begin).op(0, Op::Fork { child: ThreadId(1), nth: 0 }).op(1, Op::Begin);
        builder.op(0, acquire(8)).op(1, acquire(9));
        builder.op(1, Op::Wait { condition: ObjectId(7), mutex: ObjectId(9), timed: false });
        builder.op(0, Op::Blocked { on: BlockedOn::LockExclusive, object: ObjectId(5) });
        // A handler does not end the wait.
        builder.op(0, Op::Signal { number: 10 }).op(0, Op::Fence { order: reweave_model::MemoryOrder::SeqCst });
        builder.op(0, Op::SignalReturn { number: 10 });
        let trace = builder.into_trace().expect("in memory");
        let acts = |signals| {
            let places = last_places(&trace, &Outcome::Hung, signals).expect("readable");
            places.into_iter().map(|place| (place.thread.0, place.locks_held, place.act)).collect::<Vec<_>>()
        };
        let waits = |on, object, orphaned| LastAct::Waits { on, object: ObjectId(object), orphaned };
        let notify = (1, vec![], waits(BlockedOn::Notify, 7, false));
        let lock = |orphaned| (0, vec![EventId(3)], waits(BlockedOn::LockExclusive, 5, orphaned));
        assert_eq!(acts(SIGNALS), [lock(false), notify.clone()]);
        assert_eq!(acts(SignalKinds { forked: true, ..SIGNALS }), [lock(true), notify]);
    }

    #[test]
    fn who_dies_says_so() {
        let mut builder = TraceBuilder::default();
        builder.op(0, Op::Begin).op(0, Op::Fatal { number: 11, addr: reweave_model::Addr(0) });
        let trace = builder.into_trace().expect("in memory");
        let died = Outcome::Signalled { signal: 11, core: false };
        let places = last_places(&trace, &died, SIGNALS).expect("readable");
        assert_eq!(
            places.iter().map(|place| (place.event, place.act)).collect::<Vec<_>>(),
            [(EventId(1), LastAct::Signal(11))]
        );
    }

    #[test]
    fn the_first_exception_is_why_a_program_failed() {
        let mut builder = TraceBuilder::default();
        let fatal = || Op::Fatal { number: 0, addr: reweave_model::Addr(0) };
        builder.op(0, Op::Begin).op(0, Op::Fork { child: ThreadId(1), nth: 0 }).op(1, Op::Begin);
        builder.op(1, fatal()).op(1, Op::End).op(0, fatal()).op(0, Op::Exit { status: 1 });
        let trace = builder.into_trace().expect("in memory");
        let places = |status| {
            let places = last_places(&trace, &Outcome::Exited { status }, SIGNALS).expect("readable");
            places.into_iter().map(|place| (place.event, place.act)).collect::<Vec<_>>()
        };
        assert_eq!(places(1), [(EventId(3), LastAct::Exception)]);
        assert!(places(0).is_empty());
    }
}
