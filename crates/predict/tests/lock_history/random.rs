//! Random histories against the oracle, in the mode without data.
//!
//! `REWEAVE_LOCK_HISTORY=N` takes N histories for each test instead of the few of a normal run; `cargo xtask lock-history` does
//! that and adds up what they say.

use std::collections::{BTreeMap, BTreeSet};

use reweave_model::{EventId, LockMode, ThreadId};
use reweave_predict::history::{Action, History, Lock, Mode, Pos};
use reweave_predict::linear::{Access, Candidates, Linear, Meeting, Sync, Thread, Touch, Word, run};
use reweave_predict::lock_history::{Before, LockHistories, Point, Reach, Strategy, Witness};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{Draft, FIRST_PC, Random, generate, trace_of};
use reweave_predict::witness;
use reweave_trace::Trace;

const STRATEGIES: [Strategy; 2] = [Strategy::One, Strategy::Two];

fn histories(normally: u64) -> u64 {
    std::env::var("REWEAVE_LOCK_HISTORY").ok().and_then(|count| count.parse().ok()).unwrap_or(normally)
}

/// Records, and asks about every access and all earlier ones as soon as it comes, if it shall.
#[derive(Default)]
struct Asker {
    histories: LockHistories,
    points: BTreeMap<Pos, Point>,
    /// Any event of each thread.
    seen: BTreeMap<Thread, EventId>,
    at_once: bool,
    answers: BTreeMap<(Pos, Pos, Strategy), Reach>,
}

impl Linear for Asker {
    fn access(&mut self, access: &Access, _: &[Touch]) {
        let Some(pos) = access.pc.0.checked_sub(FIRST_PC) else { return };
        let (pos, point) = (Pos(pos as u32), Point { thread: access.thread, event: access.event });
        self.seen.insert(access.thread, access.event);
        if self.at_once {
            for (&other, &earlier) in self.points.iter().filter(|(_, earlier)| earlier.thread != access.thread) {
                for strategy in STRATEGIES {
                    let answer = self.histories.reachable(earlier, point, strategy);
                    self.answers.insert((other, pos, strategy), answer);
                }
            }
        }
        self.points.insert(pos, point);
    }
    fn left_out(&mut self, _: u64) {}
    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.seen.insert(thread, event);
        self.histories.sync(event, thread, sync);
    }
    fn meet(&mut self, event: EventId, thread: Thread, meeting: Meeting) {
        self.seen.insert(thread, event);
        self.histories.meet(event, thread, meeting);
    }
    fn forget(&mut self, _: Word) {}
    fn finish(&mut self) -> Candidates {
        Candidates::default()
    }
}

fn record(trace: &Trace, at_once: bool) -> Asker {
    let mut asker = Asker { at_once, ..Asker::default() };
    run(trace, &mut asker, &mut |_| true).expect("a sound trace");
    asker
}

fn conflicts(history: &History) -> Vec<(Pos, Pos)> {
    let all = || history.positions();
    let pairs = all().flat_map(|one| all().filter(move |two| one < *two).map(move |two| (one, two)));
    pairs.filter(|&(one, two)| history.conflict(one, two)).collect()
}

/// What the strategies say of each conflicting pair, asked in the given order.
fn ask(asker: &mut Asker, pairs: &[(Pos, Pos)]) -> BTreeMap<(Pos, Pos), [Reach; 2]> {
    let answer = |&pair: &(Pos, Pos)| {
        let (one, two) = (asker.points[&pair.0], asker.points[&pair.1]);
        (pair, STRATEGIES.map(|strategy| asker.histories.reachable(one, two, strategy)))
    };
    pairs.iter().map(answer).collect()
}

/// The events of the trace that stand for events of the history, with their threads.
fn events(trace: &Trace) -> Vec<(EventId, ThreadId, Option<Pos>)> {
    let mut all = Vec::new();
    let mut events = trace.events();
    while let Some(event) = events.next().expect("a sound trace") {
        all.push((event.id, event.thread, event.pc.0.checked_sub(FIRST_PC).map(|pos| Pos(pos as u32))));
    }
    all
}

/// A witness over lock events as one over all events.
fn spell_out(history: &History, trace: &Trace, asker: &Asker, witness: &Witness, pair: (Pos, Pos)) -> Vec<Pos> {
    let all = events(trace);
    let thread_of: BTreeMap<EventId, ThreadId> = all.iter().map(|&(event, thread, _)| (event, thread)).collect();
    let thread = |thread: &Thread| thread_of[&asker.seen[thread]];
    let until: BTreeMap<ThreadId, EventId> = match &witness.before {
        Before::Everything(_) => BTreeMap::new(),
        Before::Of(each) => each.iter().map(|(one, event)| (thread(one), *event)).collect(),
    };
    let is_before = |event: EventId, by: ThreadId| match witness.before {
        Before::Everything(last) => event <= last,
        Before::Of(_) => until.get(&by).is_some_and(|last| event <= *last),
    };
    let mut order = Vec::new();
    let mut rest: BTreeMap<ThreadId, Vec<(EventId, Pos)>> = BTreeMap::new();
    let ends = [pair.0, pair.1].map(|pos| asker.points[&pos]);
    let ends: BTreeMap<ThreadId, EventId> = ends.iter().map(|point| (thread(&point.thread), point.event)).collect();
    for &(event, by, pos) in &all {
        let Some(pos) = pos else { continue };
        if is_before(event, by) {
            order.push(pos);
        } else if ends.get(&by).is_some_and(|end| event < *end) {
            rest.entry(by).or_default().push((event, pos));
        }
    }
    let is_lock = |pos: Pos| {
        use Action::{Acquire, Release, Wait, Woken};
        matches!(history.step(pos).action, Acquire { .. } | Release { .. } | Wait { .. } | Woken { .. })
    };
    let mut others_until = |order: &mut Vec<Pos>, until: EventId| {
        loop {
            let next = |list: &Vec<(EventId, Pos)>| list.first().copied().filter(|&(event, pos)| event < until && !is_lock(pos));
            let Some((by, (_, pos))) =
                rest.iter().filter_map(|(by, list)| Some((*by, next(list)?))).min_by_key(|(_, (event, _))| *event)
            else {
                return rest.clone();
            };
            order.push(pos);
            rest.get_mut(&by).expect("it is there").remove(0);
        }
    };
    let mut done: BTreeSet<Pos> = BTreeSet::new();
    for (by, event) in &witness.steps {
        let left = others_until(&mut order, *event);
        let (next, pos) = left[&thread(by)].iter().copied().find(|(_, pos)| !done.contains(pos)).expect("a lock event");
        assert_eq!(next, *event, "what the thread does next");
        order.push(pos);
        done.insert(pos);
        others_until = remove(others_until, pos);
    }
    others_until(&mut order, EventId(u64::MAX));
    order
}
