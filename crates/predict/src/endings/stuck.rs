//! What a run must show for a deadlock to be confirmed: a thread waits at each of the places, and none of them can move
//! any more. Such a run hangs, or a signal handler (a watchdog) ends what hangs: it runs in the middle of a wait, which
//! is not over for that. Where who waits for a lock waits until it has it, threads that wait for locks of each other are
//! stuck whatever others do: those may go on, and even end the program.

use reweave_model::{CodePosition, EventId, HeldLocks, MappedModules, Op};
use reweave_trace::{Outcome, Result, Trace};

use super::waits::{self, Wait, Waits};

/// Threads that wait at all of the places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckAt {
    /// Where the first one began to wait.
    pub first: CodePosition,
    /// Steps of the run before the last one did.
    pub steps_before: u64,
    /// The waits, in the order of the places.
    pub events: Vec<EventId>,
}

/// Where threads wait at these places at the end of the run, each at another, if none of them can move there.
///
/// # Errors
/// If the trace cannot be read.
pub fn stuck(trace: &Trace, places: &[CodePosition]) -> Result<Option<StuckAt>> {
    let mut waits = Waits::default();
    let mut modules = MappedModules::default();
    let mut held: HeldLocks<()> = HeldLocks::default();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if matches!(event.op, Op::Module { .. }) {
            modules.see(&event.op);
        }
        waits.see(&event, || ());
        held.follow(event.thread, &event.op, ());
    }
    let hung = trace.footer().is_some_and(|footer| footer.outcome == Outcome::Hung);
    // Otherwise somebody could still help, or a deadline could pass.
    let is_helpless = |thread| waits.innermost(thread).is_some_and(|wait| wait.helpless);
    let nobody_moves = hung || waits.is_in_handler() && waits.threads().all(is_helpless);
    let mut found: Vec<Option<&Wait<()>>> = vec![None; places.len()];
    for wait in waits.threads().filter_map(|thread| waits.innermost(thread)) {
        let at = modules.code(wait.pc);
        if let Some(free) = (0..places.len()).find(|&place| places[place] == at && found[place].is_none()) {
            found[free] = Some(wait);
        }
    }
    let Some(found) = found.into_iter().collect::<Option<Vec<&Wait<()>>>>() else { return Ok(None) };
    let is_certain = nobody_moves || trace.language().locks_wait_for_ever && is_circle(&found, &held);
    if !is_certain {
        return Ok(None);
    }
    let last = found.iter().map(|wait| wait.step).max().unwrap_or(0);
    let first = found.iter().min_by_key(|wait| wait.step);
    Ok(first.map(|first| StuckAt {
        first: modules.code(first.pc),
        steps_before: last,
        events: found.iter().map(|wait| wait.event).collect(),
    }))
}

/// Whether each waits for a lock that another of them holds.
fn is_circle(found: &[&Wait<()>], held: &HeldLocks<()>) -> bool {
    let threads = || found.iter().map(|wait| wait.thread);
    let is_stuck =
        |wait: &&Wait<()>| wait.is_for_lock() && waits::is_held_by_other(held, threads(), wait.thread, wait.object);
    !found.is_empty() && found.iter().all(is_stuck)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{Addr, BlockedOn, LockMode, ObjectId, Pc, ThreadId, module_id};
    use reweave_trace::{Language, Meta, TraceBuilder};

    const BASE: u64 = 0x1000;

    fn at(offset: u64) -> CodePosition {
        CodePosition { module: module_id(b"prog"), offset }
    }

    /// Two threads that take two locks in opposite order, the second one with or without a deadline to its wait.
    fn trace(second: BlockedOn, handler: bool) -> Trace {
        trace_in(Language::of_older_traces(), second, handler)
    }

    fn trace_in(language: Language, second: BlockedOn, handler: bool) -> Trace {
        let mut builder = TraceBuilder::new(&Meta { language: Some(language), ..Meta::default() });
        let mut push = |thread, offset, op| {
            builder.push(ThreadId(thread), Pc(BASE + offset), op).expect("in memory");
        };
        let acquire = |object| Op::Acquire { object: ObjectId(object), mode: LockMode::Exclusive, tried: false };
        let blocked = |on, object| Op::Blocked { on, object: ObjectId(object) };
        push(0, 0, Op::Module { base: Addr(BASE), size: 0x100, bias: BASE, path: b"/bin/prog" });
        push(0, 1, Op::Begin);
        push(0, 2, Op::Fork { child: ThreadId(1), nth: 0 });
        push(1, 3, Op::Begin);
        push(0, 4, acquire(8));
        push(1, 5, acquire(9));
        push(0, 6, blocked(BlockedOn::LockExclusive, 9));
        push(1, 7, blocked(second, 8));
        if handler {
            push(1, 8, Op::Signal { number: 14 });
        }
        builder.into_trace().expect("in memory")
    }

    #[test]
    fn nobody_can_move() {
        let run = trace(BlockedOn::LockExclusive, true);
        let found = stuck(&run, &[at(7), at(6)]).expect("readable").expect("both wait");
        assert_eq!((found.first, found.events), (at(6), vec![EventId(7), EventId(6)]));
        assert_eq!(stuck(&run, &[at(7), at(4)]).expect("readable"), None, "nobody waits there");
        // Others may go on: what a wait for a lock is given up for is not known.
        assert_eq!(stuck(&trace(BlockedOn::LockExclusive, false), &[at(6), at(7)]).expect("readable"), None);
        // What sleeps wakes up.
        assert_eq!(stuck(&trace(BlockedOn::Sleep, true), &[at(6), at(7)]).expect("readable"), None);
    }
    #[test]
    fn whoever_waits_for_a_lock_for_ever_needs_its_holder() {
        let language = Language { locks_wait_for_ever: true, ..Language::of_older_traces() };
        let run = |second| trace_in(language.clone(), second, false);
        assert!(stuck(&run(BlockedOn::LockExclusive), &[at(6), at(7)]).expect("readable").is_some());
        assert_eq!(stuck(&run(BlockedOn::LockExclusive), &[at(6)]).expect("readable"), None, "the holder may move");
        assert_eq!(stuck(&run(BlockedOn::Sleep), &[at(6), at(7)]).expect("readable"), None, "one wakes up");
    }
}
