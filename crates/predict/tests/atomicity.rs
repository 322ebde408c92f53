//! Predicted atomicity violations against the oracle, on random histories with random blocks in all modes.
//! `REWEAVE_BLOCKS=SMALL,LARGE` (histories of up to 12 and of up to 16 events) makes the run longer; `cargo xtask
//! oracle-blocks` does so.

use std::collections::BTreeSet;

use reweave_order::Budget;
use reweave_predict::feasible::{Feasibility, Index};
use reweave_predict::history::{History, Mode};
use reweave_predict::oracle::atomicity::violated;
use reweave_predict::search::Context;
use reweave_predict::search::atomicity::{Block, Bounds, Cycles, Transactions, ask};
use reweave_predict::testing::{blocks, generate, generate_aimed, shrink};
use reweave_predict::witness::check_violation;

const MODES: [Mode; 4] = [Mode::ControlFlow, Mode::Prefix, Mode::Said, Mode::DataAbstract];
/// Reorderings that the oracle looks at.
const LIMIT: usize = 20_000;

#[derive(Default)]
struct Totals {
    skipped: usize,
    blocks: usize,
    questions: usize,
    violated: [usize; 4],
    /// Violations that only a cycle through three threads or more shows.
    long: usize,
}

/// The blocks that the engine says are violated.
fn found(
    history: &History,
    mode: Mode,
    transactions: &Transactions,
    totals: &mut Totals,
) -> Result<BTreeSet<Block>, String> {
    let index = Index::new(history);
    let context = Context::new(history, &index);
    let cycles = Cycles::new(history, transactions, &context, Bounds::NONE);
    let mut violated = BTreeSet::new();
    for block in transactions.blocks() {
        let candidates = cycles.of(block);
        assert!(!candidates.more);
        for cycle in candidates.cycles {
            totals.questions += 1;
            match ask(&index, mode, &cycle, Budget::default()) {
                Feasibility::No => {}
                Feasibility::Unknown(doubt) => return Err(format!("{mode:?} {cycle:?}: {doubt:?}")),
                Feasibility::Reordering(order) => {
                    check_violation(history, mode, &order, transactions, block)
                        .map_err(|rejection| format!("{mode:?} {cycle:?} by {order:?}: {rejection}"))?;
                    violated.insert(block);
                    totals.long += usize::from(cycle.edges.len() > 2);
                    break;
                }
            }
        }
    }
    Ok(violated)
}

/// Where engine and oracle disagree.
fn differs(seed: u64, history: &History, totals: &mut Totals) -> Option<String> {
    let transactions = blocks(seed, history);
    for (at, mode) in MODES.into_iter().enumerate() {
        let Some(expected) = violated(history, mode, &transactions, LIMIT) else {
            totals.skipped += 1;
            continue;
        };
        totals.blocks += transactions.blocks().count();
        totals.violated[at] += expected.len();
        match found(history, mode, &transactions, totals) {
            Err(what) => return Some(what),
            Ok(found) if found != expected => {
                return Some(format!("{mode:?}: engine {found:?}, oracle {expected:?}, {transactions:?}"));
            }
            Ok(_) => {}
        }
    }
    None
}

fn agree(name: &str, seeds: std::ops::Range<u64>, size: usize) {
    let mut totals = Totals::default();
    let histories = seeds.clone().count();
    for seed in seeds {
        // Every other one is mostly accesses and locks: that is what cycles are made of.
        let history = if seed.is_multiple_of(2) { generate(seed, size) } else { generate_aimed(seed, size, &[]) };
        if differs(seed, &history, &mut totals).is_some() {
            let small = shrink(history, |history| differs(seed, history, &mut Totals::default()).is_some());
            let what = differs(seed, &small, &mut Totals::default()).expect("it still differs");
            panic!("seed {seed}, size {size}: {what}\n{small:#?}");
        }
    }
    let Totals { skipped, blocks, questions, violated: [control_flow, prefix, said, data_abstract], long } = totals;
    println!(
        "atomicity {name}: {histories} histories, {skipped} skipped as too many reorderings, {blocks} blocks judged, \
         {questions} cycles asked, {control_flow} control-flow violations, {prefix} prefix violations, {said} said \
         violations, {data_abstract} data-abstract violations, {long} by three threads or more"
    );
    let mut enough = totals.violated.iter();
    let few = histories < 100;
    assert!(few || enough.all(|&violated| violated > histories / 10), "too few to tell: {:?}", totals.violated);
    assert!(skipped < histories, "{skipped} of {} were too large for the oracle", 4 * histories);
    assert!(few || long > 0, "no cycle through three threads");
}

fn counts() -> (u64, u64) {
    let long = std::env::var("REWEAVE_BLOCKS").ok();
    let long = long.as_deref().and_then(|text| text.split_once(','));
    long.and_then(|(small, large)| Some((small.parse().ok()?, large.parse().ok()?))).unwrap_or((400, 12))
}

#[test]
fn predicted_violations_are_the_oracles_on_small_histories() {
    agree("small", 0..counts().0, 12);
}

#[test]
fn predicted_violations_are_the_oracles_on_larger_histories() {
    agree("larger", 0..counts().1, 16);
}
