//! Power (CONFORMANCE.md §1): which analysis finds what another one finds, on traces of random histories, as pairs of
//! code positions.

use std::collections::BTreeSet;

use reweave_predict::analyses::{cp, hb, lockset, shb, syncp, wcp};
use reweave_predict::history::{History, Mode};
use reweave_predict::linear::{self, Linear};
use reweave_predict::oracle::Oracle;
use reweave_predict::races;
use reweave_predict::testing::{FIRST_PC, generate, shrink, trace_of};
use reweave_trace::Trace;

type Pairs = BTreeSet<(u64, u64)>;

fn pair(one: u64, two: u64) -> (u64, u64) {
    (one.min(two).wrapping_sub(FIRST_PC), one.max(two).wrapping_sub(FIRST_PC))
}

fn listed(trace: &Trace, mut analysis: impl Linear) -> Pairs {
    linear::run(trace, &mut analysis, &mut |_| {}).expect("it is in memory");
    let found = analysis.finish();
    assert_eq!(found.dropped, 0);
    found.pairs.iter().map(|candidate| pair(candidate.first_pc.0, candidate.second_pc.0)).collect()
}

/// What the engine finds; memory-order races apart.
fn found(trace: &Trace, mode: Mode) -> (Pairs, Pairs) {
    let options = races::Options { mode, ..races::Options::default() };
    let found = races::races(trace, "", &options, &mut |_| {}).expect("it is in memory");
    assert_eq!((found.stats.refused, found.stats.unknown), (0, 0), "{mode:?}");
    let (mut plain, mut weak) = (Pairs::new(), Pairs::new());
    for finding in found.findings {
        let pcs = pair(finding.accesses[0].pc.0, finding.accesses[1].pc.0);
        (if finding.weak_order { &mut weak } else { &mut plain }).insert(pcs);
    }
    (plain, weak)
}

fn oracle(history: &History, mode: Mode) -> Pairs {
    Oracle::new(history, mode).races().into_iter().map(|(one, two)| (one.0.into(), two.0.into())).collect()
}

/// The first inclusion that does not hold.
fn broken(history: &History) -> Option<String> {
    let trace = trace_of(history)?;
    let mut history = history.clone();
    history.pair_unguarded = false;
    let (hb, shb) = (listed(&trace, hb::HbRaces::default()), listed(&trace, shb::ShbRaces::default()));
    let (cp, wcp) = (listed(&trace, cp::CpRaces::default()), listed(&trace, wcp::WcpRaces::default()));
    let syncp = listed(&trace, syncp::SyncpRaces::default());
    let quick = listed(&trace, lockset::LocksetRaces::default());
    let (maximal, weak) = found(&trace, Mode::ControlFlow);
    let (prefix, said) = (found(&trace, Mode::Prefix).0, found(&trace, Mode::Said).0);
    let all: Pairs = maximal.union(&weak).copied().collect();
    let real = oracle(&history, Mode::Prefix);
    if maximal != oracle(&history, Mode::ControlFlow) {
        return Some(format!("maximal {maximal:?} is not the oracle"));
    }
    for (name, smaller, larger) in [
        ("hb ⊆ cp", &hb, &cp),
        ("cp ⊆ wcp", &cp, &wcp),
        ("wcp ⊆ lockset", &wcp, &quick),
        ("shb ⊆ hb", &shb, &hb),
        ("shb ⊆ syncp", &shb, &syncp),
        ("said ⊆ prefix", &said, &prefix),
        ("prefix ⊆ maximal", &prefix, &maximal),
        ("maximal ⊆ lockset", &all, &quick),
        ("shb ⊆ prefix", &shb, &real),
        ("syncp ⊆ prefix", &syncp, &real),
    ] {
        if !smaller.is_subset(larger) {
            return Some(format!("{name}: {smaller:?} {larger:?}"));
        }
    }
    None
}

fn lines(history: &History) -> String {
    let line = |pos: reweave_predict::history::Pos| {
        let step = history.step(pos);
        let guard = if step.guarded { " guarded" } else { "" };
        format!("  {} T{}{guard} after {:?}: {:?}\n", pos.0, step.thread.0, step.after, step.action)
    };
    format!("initial {:?} {:?}\n", history.initial, history.semaphores)
        + &history.positions().map(line).collect::<String>()
}

#[test]
fn inclusions_hold() {
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for seed in 0..std::env::var("POWER").map_or(600, |n| n.parse().unwrap()) {
        let history = generate(seed, 14);
        if let Some(what) = broken(&history) {
            let what = what.split(':').next().unwrap_or_default().to_owned();
            let count = seen.entry(what.clone()).or_default();
            *count += 1;
            if *count <= 3 {
                let small = shrink(history, |history| broken(history).is_some_and(|now| now.starts_with(&what)));
                println!("seed {seed}: {}\n{}", broken(&small).expect("it is still wrong"), lines(&small));
            }
        }
    }
    assert!(seen.is_empty(), "{seen:?}");
}
