//! The examples of the papers, decided by the oracle and by the engine; each witness passes the checker.

use std::collections::BTreeSet;

use reweave_model::MemoryOrder;
use reweave_order::Budget;
use reweave_predict::feasible::{Feasibility, Goal, Index, Question};
use reweave_predict::history::{Action, Condition, History, Lock, Mode, Pos, Waking};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{Draft, is_history};
use reweave_predict::witness;

fn races(history: &History, mode: Mode) -> BTreeSet<(u32, u32)> {
    assert!(is_history(history));
    let oracle = Oracle::new(history, mode);
    let races = oracle.races();
    for &pair in &races {
        let order = oracle.witness(pair).expect("a race has a witness");
        witness::check(history, mode, &order, pair).unwrap_or_else(|why| panic!("{mode:?} {pair:?}: {why}"));
    }
    assert_eq!(by_engine(history, mode), races, "the engine agrees in {mode:?}");
    races.into_iter().map(|(one, two)| (one.0, two.0)).collect()
}

fn by_engine(history: &History, mode: Mode) -> BTreeSet<(Pos, Pos)> {
    let index = Index::new(history);
    let pairs = history.positions().flat_map(|one| history.positions().map(move |two| (one, two)));
    let races = |&(one, two): &(Pos, Pos)| {
        let ways = [(one, two), (two, one)].map(|pair| Goal::race(history, mode, pair));
        one < two
            && history.conflict(one, two)
            && ways.into_iter().filter_map(|goal| Question::new(&index, mode, goal)).any(|question| {
                match question.ask(Budget::default()).0 {
                    Feasibility::Reordering(order) => witness::check(history, mode, &order, (one, two)).is_ok(),
                    answer => {
                        assert_eq!(answer, Feasibility::No);
                        false
                    }
                }
            })
    };
    pairs.filter(races).collect()
}

/// Fig. 4. Positions are one less than the paper's lines; branches are guards of what follows them.
fn figure_4(swapped: bool) -> History {
    let (x, y, z) = (0, 1, 2);
    let mut draft = Draft::new();
    let mut first = [Pos(0); 2];
    if swapped {
        first[1] = draft.acquire(0, 0);
        first[0] = draft.nothing(0);
    } else {
        first[0] = draft.nothing(0);
        first[1] = draft.acquire(0, 0);
    }
    draft.write(0, x, 1);
    draft.write(0, y, 1);
    draft.release(0, 0);
    let begin = draft.nothing(1);
    draft.order(first[0], begin);
    draft.acquire(1, 0);
    draft.read(1, y, 1);
    draft.release(1, 0);
    draft.read(1, x, 1);
    let branch = draft.nothing(1);
    let write = draft.write(1, z, 1);
    let end = draft.nothing(1);
    let join = draft.nothing(0);
    draft.order(end, join);
    draft.read(0, z, 1);
    let last = draft.nothing(0);
    for guarded in [branch, write, end, last] {
        draft.guard(guarded);
    }
    draft.history()
}

#[test]
fn figure_4_bad() {
    let history = figure_4(false);
    assert_eq!(races(&history, Mode::ControlFlow), BTreeSet::from([(2, 9)]));
    // Said et al. and every other engine that keeps all reads finds none.
    assert_eq!(races(&history, Mode::Said), BTreeSet::new());
    assert_eq!(races(&history, Mode::Prefix), BTreeSet::new());
    // The paper's witness, 1-6-7-8'-9-2 before 3-10.
    let order = [0, 5, 6, 7, 8, 1].map(Pos);
    assert_eq!(witness::check(&history, Mode::ControlFlow, &order, (Pos(2), Pos(9))), Ok(()));
    assert!(witness::check(&history, Mode::Prefix, &order, (Pos(2), Pos(9))).is_err());
}

#[test]
fn figure_1_swapped_ok() {
    assert_eq!(races(&figure_4(true), Mode::ControlFlow), BTreeSet::new());
}

fn figure_2(branch: bool) -> History {
    let mut draft = Draft::new();
    draft.write(0, 0, 1);
    draft.store(0, MemoryOrder::SeqCst, 1, 1);
    draft.load(1, MemoryOrder::SeqCst, 1, 1);
    let read = draft.read(1, 0, 1);
    if branch {
        draft.guard(read);
    }
    draft.history()
}

#[test]
fn figure_2_case_1_bad() {
    assert_eq!(races(&figure_2(false), Mode::ControlFlow), BTreeSet::from([(0, 3)]));
    assert_eq!(races(&figure_2(false), Mode::Said), BTreeSet::new());
}

#[test]
fn figure_2_case_2_ok() {
    assert_eq!(races(&figure_2(true), Mode::ControlFlow), BTreeSet::new());
    assert_eq!(races(&figure_2(true), Mode::DataAbstract), BTreeSet::from([(0, 3)]));
}

/// §4: `a[x] = 2` reads `x` and then writes where that says: the write is guarded.
fn array(guarded: bool) -> History {
    let (x, a0) = (0, 1);
    let mut draft = Draft::new();
    draft.acquire(0, 0);
    draft.read(0, x, 0);
    let write = draft.write(0, a0, 2);
    if guarded {
        draft.guard(write);
    }
    draft.release(0, 0);
    draft.acquire(1, 0);
    draft.write(1, x, 1);
    draft.release(1, 0);
    draft.write(1, a0, 1);
    draft.history()
}

#[test]
fn array_ok() {
    assert_eq!(races(&array(true), Mode::ControlFlow), BTreeSet::new());
    // Only the index stands against it.
    assert_eq!(races(&array(false), Mode::ControlFlow), BTreeSet::from([(2, 7)]));
}

#[test]
fn atomics_do_not_race_with_each_other_ok() {
    let mut draft = Draft::new();
    draft.store(0, MemoryOrder::Relaxed, 0, 1);
    draft.load(1, MemoryOrder::Relaxed, 0, 1);
    assert_eq!(races(&draft.history(), Mode::ControlFlow), BTreeSet::new());
}

#[test]
fn atomic_against_plain_bad() {
    let mut draft = Draft::new();
    draft.store(0, MemoryOrder::SeqCst, 0, 1);
    draft.read(1, 0, 1);
    assert_eq!(races(&draft.history(), Mode::ControlFlow), BTreeSet::from([(0, 1)]));
}

/// CONFORMANCE §1: HB also reports (1,5), which no feasible reordering shows.
#[test]
fn race_behind_a_race_ok() {
    let mut draft = Draft::new();
    draft.write(0, 0, 1);
    draft.write(0, 1, 1);
    draft.read(1, 1, 1);
    let last = draft.write(1, 0, 2);
    draft.guard(last);
    assert_eq!(races(&draft.history(), Mode::ControlFlow), BTreeSet::from([(1, 2)]));
}

/// A wait is a release and a later acquire with the notify between them: what the notifier did before under the lock is
/// over, what the waiter does after the wait cannot meet it. Without the lock it can.
#[test]
fn wait_and_notify() {
    let history = |protected: bool| {
        let (condition, lock) = (Condition(0), Lock(0));
        let mut draft = Draft::new();
        draft.acquire(0, 0);
        draft.step(0, Action::Wait { condition, lock });
        if !protected {
            draft.write(1, 0, 1);
        }
        draft.acquire(1, 0);
        if protected {
            draft.write(1, 0, 1);
        }
        draft.step(1, Action::Notify { condition, all: false });
        draft.release(1, 0);
        if !protected {
            draft.write(1, 0, 2);
        }
        draft.step(0, Action::Woken { condition, lock, how: Waking::Notified });
        draft.read(0, 0, if protected { 1 } else { 2 });
        draft.release(0, 0);
        draft.history()
    };
    assert_eq!(races(&history(true), Mode::ControlFlow), BTreeSet::new());
    // The write before the notify is over when the waiter reads; the one after the unlock need not be.
    assert_eq!(races(&history(false), Mode::ControlFlow), BTreeSet::from([(6, 8)]));
}
