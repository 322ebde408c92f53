//! The engine against the oracle, on random histories in all modes. `REWEAVE_ORACLE=SMALL,LARGE` (histories of up to 16
//! and of up to 24 events) makes the run longer; `cargo xtask oracle` does so.

use std::collections::BTreeSet;

use reweave_order::Budget;
use reweave_predict::feasible::{Feasibility, Goal, Index, Question};
use reweave_predict::history::{History, Mode, Pos};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{generate, shrink};
use reweave_predict::witness;

const MODES: [Mode; 4] = [Mode::ControlFlow, Mode::Prefix, Mode::Said, Mode::DataAbstract];

fn pairs(history: &History) -> Vec<(Pos, Pos)> {
    let all: Vec<Pos> = history.positions().collect();
    let pairs = all.iter().flat_map(|&p| all.iter().map(move |&q| (p, q)));
    pairs.filter(|&(p, q)| p < q && history.conflict(p, q)).collect()
}

/// What the engine says of a pair; panics if its order is not one.
fn asks(history: &History, index: &Index<'_>, mode: Mode, pair: (Pos, Pos)) -> Result<bool, String> {
    let orders: &[(Pos, Pos)] = if mode == Mode::Said { &[pair, (pair.1, pair.0)] } else { &[pair] };
    for &pair in orders {
        let Some(question) = Question::new(index, mode, Goal::race(history, mode, pair)) else { continue };
        match question.ask(Budget::default()).0 {
            Feasibility::Reordering(order) => {
                witness::check(history, mode, &order, pair)
                    .map_err(|rejection| format!("{mode:?} {pair:?} by {order:?}: {rejection}"))?;
                return Ok(true);
            }
            Feasibility::No => {}
            Feasibility::Unknown(doubt) => return Err(format!("{mode:?} {pair:?}: {doubt:?}")),
        }
    }
    Ok(false)
}

/// Pairs asked about, and races found by mode.
#[derive(Default)]
struct Totals {
    asked: usize,
    races: [usize; 4],
}

/// Where engine and oracle disagree.
fn differs(history: &History, totals: &mut Totals) -> Option<String> {
    let index = Index::new(history);
    for (at, mode) in MODES.into_iter().enumerate() {
        let races = Oracle::new(history, mode).races();
        totals.races[at] += races.len();
        let mut found = BTreeSet::new();
        for pair in pairs(history) {
            totals.asked += 1;
            match asks(history, &index, mode, pair) {
                Ok(true) => drop(found.insert(pair)),
                Ok(false) => {}
                Err(what) => return Some(what),
            }
        }
        if found != races {
            return Some(format!("{mode:?}: engine {found:?}, oracle {races:?}"));
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
    let Totals { asked, races: [control_flow, prefix, said, data_abstract] } = totals;
    println!(
        "feasible {name}: {histories} histories, {asked} pairs asked, {control_flow} control-flow races, \
         {prefix} prefix races, {said} said races, {data_abstract} data-abstract races"
    );
    assert!(totals.races.iter().all(|&races| races > histories / 4), "too few races to tell: {:?}", totals.races);
}

fn counts() -> (u64, u64) {
    let long = std::env::var("REWEAVE_ORACLE").ok();
    let long = long.as_deref().and_then(|text| text.split_once(','));
    long.and_then(|(small, large)| Some((small.parse().ok()?, large.parse().ok()?))).unwrap_or((1200, 60))
}

#[test]
fn maximal_is_the_oracle_on_small_histories() {
    agree("small", 0..counts().0, 16);
}

#[test]
fn maximal_is_the_oracle_on_larger_histories() {
    agree("larger", 0..counts().1, 24);
}
