//! "This read can return what that write put there", by the engine and by brute force.

use std::collections::BTreeSet;

use reweave_order::Budget;
use reweave_predict::feasible::{Feasibility, Goal, Index, Question};
use reweave_predict::history::{Cell, History, Mode, Pos};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{generate, shrink};
use reweave_predict::witness;

use super::counts;

const MODES: [Mode; 4] = [Mode::ControlFlow, Mode::Prefix, Mode::Said, Mode::DataAbstract];

/// All writers of a cell, and the time before them.
fn writers(history: &History, cell: Cell) -> Vec<Option<Pos>> {
    let writes = |pos: &Pos| {
        let access = history.step(*pos).action.access();
        access.is_some_and(|access| access.writes.iter().any(|(other, _)| *other == cell))
    };
    std::iter::once(None).chain(history.positions().filter(writes).map(Some)).collect()
}

fn answer(question: Option<Question<'_, '_>>) -> Result<Option<Vec<Pos>>, String> {
    match question.map_or(Feasibility::No, |question| question.ask(Budget::default()).0) {
        Feasibility::Reordering(order) => Ok(Some(order)),
        Feasibility::No => Ok(None),
        Feasibility::Unknown(doubt) => Err(format!("{doubt:?}")),
    }
}

#[derive(Default)]
struct Totals {
    asked: usize,
    /// Reads and writes that go together, by mode.
    seen: [usize; 4],
    ends: usize,
}

/// Where engine and oracle disagree, or an order of the engine is refused.
fn differs(history: &History, totals: &mut Totals) -> Option<String> {
    let index = Index::new(history);
    for (at, mode) in MODES.into_iter().enumerate() {
        let oracle = Oracle::new(history, mode);
        let mut found = BTreeSet::new();
        for read in history.positions() {
            for &(cell, _) in history.step(read).action.access().map_or(&[][..], |access| &access.reads) {
                for writer in writers(history, cell) {
                    totals.asked += 1;
                    let what = (read, cell, writer);
                    match answer(Question::new(&index, mode, Goal::reads_from(read, cell, writer))) {
                        Err(doubt) => return Some(format!("{mode:?} {what:?}: {doubt}")),
                        Ok(None) => {}
                        Ok(Some(order)) => {
                            if let Err(why) = witness::check_reads_from(history, mode, &order, read, cell, writer) {
                                return Some(format!("{mode:?} {what:?} by {order:?}: {why}"));
                            }
                            found.insert(what);
                        }
                    }
                }
            }
        }
        let expected = oracle.reads_from();
        totals.seen[at] += expected.len();
        if found != expected {
            let wrong: Vec<_> = found.symmetric_difference(&expected).collect();
            return Some(format!("{mode:?}: engine and oracle differ in {wrong:?}"));
        }
        let mut ends = BTreeSet::new();
        for cell in (0..history.initial.len() as u32).map(Cell) {
            for writer in writers(history, cell) {
                match answer(Question::new(&index, mode, Goal::ends_with(cell, writer))) {
                    Err(doubt) => return Some(format!("{mode:?} end {cell:?} {writer:?}: {doubt}")),
                    Ok(None) => {}
                    Ok(Some(order)) => {
                        if let Err(why) = witness::check_ends_with(history, mode, &order, cell, writer) {
                            return Some(format!("{mode:?} end {cell:?} {writer:?} by {order:?}: {why}"));
                        }
                        ends.insert((cell, writer));
                    }
                }
            }
        }
        let expected = oracle.ends_with();
        totals.ends += expected.len();
        if ends != expected {
            let wrong: Vec<_> = ends.symmetric_difference(&expected).collect();
            return Some(format!("{mode:?}: engine and oracle differ in ends {wrong:?}"));
        }
    }
    None
}

fn agree(name: &str, seeds: std::ops::Range<u64>, size: usize) {
    let mut totals = Totals::default();
    let histories = seeds.clone().count();
    for seed in seeds {
        let history = generate(seed, size);
        if differs(&history, &mut totals).is_some() {
            let small = shrink(history, |history| differs(history, &mut Totals::default()).is_some());
            let what = differs(&small, &mut Totals::default()).expect("it still differs");
            panic!("seed {seed}, size {size}: {what}\n{small:#?}");
        }
    }
    let Totals { asked, seen: [control_flow, prefix, said, data_abstract], ends } = totals;
    println!(
        "nondeterminism {name}: {histories} histories, {asked} questions, {control_flow} control-flow views, {prefix} prefix views, \
         {said} said views, {data_abstract} data-abstract views, {ends} ends"
    );
    assert!(totals.seen.iter().all(|&seen| seen > histories / 2), "too few reads to tell: {:?}", totals.seen);
}

#[test]
fn exact_is_the_oracle_on_small_histories() {
    agree("exact small", 0..counts(300, 20).0, 16);
}

#[test]
fn exact_is_the_oracle_on_larger_histories() {
    agree("exact larger", 0..counts(300, 20).1, 24);
}
