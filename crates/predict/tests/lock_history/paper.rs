//! Fig. 1 of the paper (two threads, four locks, not nested, one notify and wait): its Tables II and its counts.

use reweave_model::{EventId, LockMode, ObjectId};
use reweave_predict::linear::{Lock, Meeting, Sync, Thread};
use reweave_predict::lock_history::search::Search;
use reweave_predict::lock_history::{Fate, HistoryLimits, LockHistories, Pair, Point, Reach, SearchOutcome, Strategy};

const A: Thread = Thread(0);
const B: Thread = Thread(1);

struct Figure {
    histories: LockHistories,
    next: u64,
    /// The accesses to X: a10, a11, b10, b11.
    points: [Point; 4],
}

impl Figure {
    fn event(&mut self) -> EventId {
        self.next += 1;
        EventId(self.next)
    }
    fn lock(&mut self, thread: Thread, lock: u32) {
        let event = self.event();
        self.histories.sync(event, thread, Sync::Acquire { lock: Lock(lock), mode: LockMode::Exclusive });
    }
    fn unlock(&mut self, thread: Thread, lock: u32) {
        let event = self.event();
        self.histories.sync(event, thread, Sync::Release { lock: Lock(lock), mode: LockMode::Exclusive });
    }
    fn signal(&mut self, thread: Thread) {
        let event = self.event();
        self.histories.meet(event, thread, Meeting::Object(ObjectId(1)));
    }
    fn access(&mut self, at: usize, thread: Thread) {
        self.points[at] = Point { thread, event: self.event() };
    }

    /// In an order in which it can have been observed. The inner pair of the re-entrant L1 is no event of a trace.
    fn new() -> Self {
        let nowhere = Point { thread: A, event: EventId(0) };
        let mut figure = Self { histories: LockHistories::default().comparing(), next: 0, points: [nowhere; 4] };
        figure.lock(B, 1); // b1
        figure.lock(B, 3); // b2
        figure.unlock(B, 3); // b3
        figure.signal(B); // begins to wait
        figure.lock(A, 3); // a1
        figure.lock(A, 2); // a2
        figure.signal(A); // notifies
        figure.signal(B); // is woken
        figure.unlock(B, 1); // b4
        figure.unlock(A, 3); // a3
        figure.lock(A, 1); // a4
        figure.unlock(A, 2); // a5
        figure.lock(B, 3); // b5
        figure.lock(B, 2); // b6
        figure.lock(B, 0); // b7
        figure.unlock(B, 3); // b8
        figure.unlock(B, 0); // b9
        figure.access(2, B);
        figure.unlock(B, 2); // b10
        figure.access(3, B);
        figure.lock(A, 2); // a6
        figure.unlock(A, 1); // a7
        figure.lock(A, 0); // a8
        figure.unlock(A, 2); // a9
        figure.access(0, A);
        figure.lock(A, 3); // a10
        figure.access(1, A);
        figure
    }

    /// The four questions in the paper's order: (a10,b10), (a10,b11), (a11,b10), (a11,b11).
    fn questions(&self) -> [(Point, Point); 4] {
        let [a10, a11, b10, b11] = self.points;
        [(a10, b10), (a10, b11), (a11, b10), (a11, b11)]
    }
}

/// As the paper numbers them, from 1.
fn pair(a: u32, b: u32) -> Pair {
    Pair::new(a - 1, b - 1)
}

const REACHABLE: [bool; 4] = [false, true, false, true];

#[test]
fn table_two() {
    let mut figure = Figure::new();
    let (a10, b10) = figure.questions()[0];
    let (question, starts) = figure.histories.question(a10, b10, Strategy::Two);
    assert_eq!(starts[0], pair(3, 4), "the last matching unblock and block");
    let mut search = Search::new(starts[0]);
    let mut steps = Vec::new();
    let found = search.ask_and_tell(&question, u64::MAX, &mut |at, check| steps.push((at, check.name())));
    assert_eq!(found, SearchOutcome::Unreachable);
    let expected = [
        (pair(3, 4), "RC3"),
        (pair(4, 5), "RC4"),
        (pair(5, 5), "RC2"),
        (pair(6, 5), "RC5"),
        (pair(6, 6), "RC7"),
        (pair(7, 6), "LCC4"),
        (pair(8, 6), "LCC4"),
        (pair(9, 6), "LCC4"),
        (pair(10, 6), "LCC3"),
        (pair(10, 7), "LCC2"),
    ];
    assert_eq!(steps, expected);
    assert_eq!(search.counts.calls, 9);
    let open: Vec<Pair> = search.open().iter().copied().collect();
    assert_eq!(open, [pair(4, 5), pair(6, 5), pair(6, 6), pair(10, 6), pair(10, 7)], "the last column of the table");
}

#[test]
fn calls_with_and_without_what_is_known() {
    let mut figure = Figure::new();
    let mut known = Search::new(pair(3, 4));
    let (mut anew, mut potential) = (Vec::new(), Vec::new());
    let mut new_calls = Vec::new();
    for ((one, two), reachable) in figure.questions().into_iter().zip(REACHABLE) {
        let (question, _) = figure.histories.question(one, two, Strategy::Two);
        let expected = if reachable { SearchOutcome::Reached } else { SearchOutcome::Unreachable };
        let before = known.counts.calls;
        assert_eq!(known.ask(&question, u64::MAX), expected, "{one:?} {two:?}, going on");
        new_calls.push(known.counts.calls - before);
        let mut search = Search::new(pair(3, 4));
        assert_eq!(search.ask(&question, u64::MAX), expected, "{one:?} {two:?}, anew");
        anew.push(search.counts.calls);
        potential.push(search.counts.potential_calls);
    }
    assert_eq!(anew, [9, 13, 12, 14], "48 in all");
    assert_eq!(new_calls[0], 9);
    assert_eq!(known.counts.calls, 22, "{new_calls:?}");
    assert_eq!(potential[0], 97);
    assert_eq!(potential.iter().sum::<u64>(), 446);
}

#[test]
fn verdicts_by_both_strategies() {
    for strategy in [Strategy::One, Strategy::Two] {
        let mut figure = Figure::new();
        for ((one, two), reachable) in figure.questions().into_iter().zip(REACHABLE) {
            let expected = if reachable { Reach::Reachable } else { Reach::Unreachable };
            assert_eq!(figure.histories.reachable(one, two, strategy), expected, "{strategy:?} {one:?} {two:?}");
            assert_eq!(figure.histories.reachable(two, one, strategy), expected, "{strategy:?} {two:?} {one:?}");
        }
    }
}

#[test]
fn deadlock_and_doom() {
    let mut figure = Figure::new();
    assert_eq!(figure.histories.fate(A, B, pair(10, 7)), Fate::Deadlock);
    assert_eq!(figure.histories.fate(A, B, pair(10, 6)), Fate::Doomed);
    assert_eq!(figure.histories.fate(A, B, pair(3, 4)), Fate::Free);
    for (one, two) in figure.questions() {
        figure.histories.reachable(one, two, Strategy::Two);
    }
    // a10 and b7, by their events.
    let deadlocks: Vec<_> = figure.histories.deadlocks().iter().map(|(one, two)| (one.0, two.0)).collect();
    assert_eq!(deadlocks, [(15, 26)]);
}

#[test]
fn a_witness_leads_there() {
    let mut figure = Figure::new();
    let (a11, b11) = figure.questions()[3];
    let witness = figure.histories.witness(a11, b11).expect("it is reachable");
    assert_eq!(witness.steps.iter().filter(|(thread, _)| *thread == A).count(), 8, "a3 to a10");
    assert_eq!(witness.steps.iter().filter(|(thread, _)| *thread == B).count(), 7, "b4 to b10");
    assert_eq!(figure.histories.witness(figure.points[0], figure.points[2]), None);
}

/// A short memory forgets, and says so.
#[test]
fn what_is_forgotten_is_unknown() {
    let limits = HistoryLimits { history: 8, steps: 1000, visited: 1000 };
    let mut histories = LockHistories::new(limits);
    let mut event = 0;
    let mut turn = |histories: &mut LockHistories, thread| {
        for sync in [
            Sync::Acquire { lock: Lock(0), mode: LockMode::Exclusive },
            Sync::Release { lock: Lock(0), mode: LockMode::Exclusive },
        ] {
            event += 1;
            histories.sync(EventId(event), thread, sync);
        }
        event += 1;
        Point { thread, event: EventId(event) }
    };
    let (first, second) = (turn(&mut histories, A), turn(&mut histories, B));
    assert_eq!(histories.reachable(first, second, Strategy::One), Reach::Reachable);
    let mut last = first;
    (0..10).for_each(|_| last = turn(&mut histories, A));
    assert_eq!(histories.reachable(first, second, Strategy::One), Reach::Unknown, "the first point is gone");
    assert_eq!(histories.reachable(last, second, Strategy::One), Reach::Unknown, "where the thread began is gone");
    assert!(histories.record().dropped > 0);
}
