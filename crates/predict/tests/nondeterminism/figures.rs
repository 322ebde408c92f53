//! The examples of the paper, by both rules; the oracle has the last word.

use std::collections::BTreeSet;

use reweave_predict::history::{Cell, History, Mode, Pos};
use reweave_predict::oracle::Oracle;
use reweave_predict::search::SearchLimits;
use reweave_predict::search::nondeterminism::published::{self, Couple, Order, Stats, Verdict, Witness};
use reweave_predict::search::nondeterminism::views::Views;
use reweave_predict::testing::{Draft, is_history};

/// The other writes that a read can see by the exact rule. The oracle agrees.
fn exact(history: &History, read: Pos) -> BTreeSet<Option<Pos>> {
    assert!(is_history(history));
    let views = Views::new(history);
    let alternatives = views.alternatives(read, &SearchLimits::default());
    assert_eq!(alternatives.unknown, []);
    let found: BTreeSet<_> = alternatives.found.iter().map(|one| (read, one.cell, one.writer)).collect();
    let all = Oracle::new(history, Mode::ControlFlow).reads_from().into_iter();
    let expected: BTreeSet<_> = all.filter(|&(r, cell, c)| r == read && views.seen(read, cell) != c).collect();
    assert_eq!(found, expected);
    found.into_iter().map(|(_, _, writer)| writer).collect()
}

/// What the published rule says of one witness.
fn published(history: &History, wanted: (Option<Pos>, Pos, Option<Pos>), order: Order) -> Verdict {
    let (writer, reader, challenger) = wanted;
    let mut found = None;
    published::witnesses(history, &mut Stats::default(), &mut |witness, verdict| {
        if witness.couple.writer == writer
            && witness.couple.reader == Some(reader)
            && (witness.challenger, witness.order) == (challenger, order)
        {
            found = Some(verdict);
        }
        true
    });
    found.expect("it is a possible witness")
}

/// Fig. 1: write and read under one lock. No race, but the read also sees what was there before.
#[test]
fn figure_1_bad() {
    let mut draft = Draft::new();
    draft.acquire(0, 0);
    let write = draft.write(0, 0, 1);
    draft.release(0, 0);
    draft.acquire(1, 0);
    let read = draft.read(1, 0, 1);
    draft.release(1, 0);
    let history = draft.history();
    assert_eq!(Oracle::new(&history, Mode::ControlFlow).races(), BTreeSet::new());
    assert_eq!(exact(&history, read), BTreeSet::from([None]));
    assert_eq!(published(&history, (Some(write), read, None), Order::ReaderFirst), Verdict::Feasible);
    assert_eq!(published(&history, (Some(write), read, None), Order::WriterFirst), Verdict::Cyclic);
    // Whether the write occurs depends on whose section is first.
    assert_eq!(published(&history, (Some(write), read, None), Order::NoWriter), Verdict::FeasibleBy { choices: 1 });
}

/// The same where the reader is only started after the write.
#[test]
fn figure_1_ordered_ok() {
    let mut draft = Draft::new();
    draft.acquire(0, 0);
    let write = draft.write(0, 0, 1);
    draft.release(0, 0);
    let fork = draft.nothing(0);
    let begin = draft.nothing(1);
    draft.order(fork, begin);
    draft.acquire(1, 0);
    let read = draft.read(1, 0, 1);
    draft.release(1, 0);
    let history = draft.history();
    assert_eq!(exact(&history, read), BTreeSet::new());
    for order in Order::ALL {
        assert_eq!(published(&history, (Some(write), read, None), order), Verdict::Cyclic);
    }
}

/// Fig. 4. The events of thread 1 are c, w, lock, e2 (the address of x goes to y), unlock; those of thread 2 e4 (reads
/// y; what follows needs it), lock, r, unlock. `coupled`: whether e2 is what e4 reads, without which nothing is left of
/// the cycle.
fn figure_4(coupled: bool) -> (History, [Pos; 3], [Pos; 6]) {
    let (x, y) = (0, 1);
    let mut draft = Draft::new();
    let challenger = draft.write(0, x, 1);
    let writer = draft.write(0, x, 2);
    let e1 = draft.acquire(0, 0);
    let e2 = draft.write(0, if coupled { y } else { 2 }, 1);
    draft.release(0, 0);
    let e4 = draft.read(1, y, u32::from(coupled));
    let e5 = draft.acquire(1, 0);
    let read = draft.read(1, x, 2);
    draft.release(1, 0);
    draft.guard(e5);
    draft.guard(read);
    (draft.history(), [writer, read, challenger], [read, writer, e1, e2, e4, e5])
}

/// The cycle r → w → e1 → e2 → e4 → e5 → r, edge by edge: without any one of its causes the witness is feasible.
#[test]
fn figure_4_ok() {
    let (history, [writer, read, challenger], cycle) = figure_4(true);
    let triplet = (Some(writer), read, Some(challenger));
    assert_eq!(published(&history, triplet, Order::ReaderFirst), Verdict::Cyclic);
    assert_eq!(exact(&history, read), BTreeSet::new());
    // The edges of the cycle are those of the graph, the first one the witness', the fourth the read-couple.
    for edge in [(1, 2), (2, 3), (4, 5), (5, 0)] {
        let (from, to) = (cycle[edge.0], cycle[edge.1]);
        assert_eq!(history.step(from).thread, history.step(to).thread, "program order");
        assert!(from < to);
    }
    let couples = published::couples(&history);
    assert!(couples.contains(&Couple { cell: Cell(1), writer: Some(cycle[3]), reader: Some(cycle[4]) }));
    // Only the read-couple stands against it: the rest has no cycle.
    let (history, [writer, read, challenger], _) = figure_4(false);
    let triplet = (Some(writer), read, Some(challenger));
    assert_eq!(published(&history, triplet, Order::ReaderFirst), Verdict::Feasible);
    assert!(exact(&history, read).contains(&Some(challenger)));
}

/// Fig. 5, with x the write and y the read of one cell. Scopes 1 and 2 are of one lock, 3 and 4 of another, each in a
/// thread of its own. x comes before both first scopes end, both begin before the other two end, and those begin before
/// y: whichever way the scopes are ordered, x comes before y. With the witness edge y → x there is no way.
fn figure_5() -> (History, (Option<Pos>, Pos, Option<Pos>)) {
    let mut draft = Draft::new();
    let x = draft.write(0, 0, 1);
    let mut began = Vec::new();
    for (thread, lock) in [(1, 0), (2, 0), (3, 1), (4, 1)] {
        began.push(draft.acquire(thread, lock));
        let end = draft.release(thread, lock);
        if lock == 0 {
            draft.order(x, end);
        } else {
            draft.order(began[0], end);
            draft.order(began[1], end);
        }
    }
    let y = draft.read(5, 0, 1);
    draft.order(began[2], y);
    draft.order(began[3], y);
    (draft.history(), (Some(x), y, None))
}

#[test]
fn figure_5_ok() {
    let (history, witness) = figure_5();
    let (writer, reader, challenger) = witness;
    // G' has no cycle, and all four choice graphs have one.
    let mut stats = Stats::default();
    let mut verdicts = Vec::new();
    published::witnesses(&history, &mut stats, &mut |Witness { couple, challenger: c, order }, verdict| {
        if (couple.writer, couple.reader, c) == (writer, Some(reader), challenger) {
            verdicts.push((order, verdict));
        }
        true
    });
    assert_eq!(
        verdicts,
        [
            (Order::ReaderFirst, Verdict::NoChoice { choices: 2 }),
            (Order::WriterFirst, Verdict::Cyclic),
            (Order::NoWriter, Verdict::NoChoice { choices: 2 }),
        ]
    );
    assert_eq!((stats.with_choices, stats.graphs_possible, stats.graphs_explored), (2, 8, 8));
    assert_eq!(exact(&history, reader), BTreeSet::new());
}
