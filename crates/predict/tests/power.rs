//! Power (CONFORMANCE.md §1): which analysis finds what another one finds, on traces of random histories, as pairs of
//! code positions.

use std::collections::BTreeSet;

use reweave_predict::analyses::{cp, hb, lockset, maximal, shb, syncp, wcp};
use reweave_predict::history::{Action, Condition, History, Lock, Mode, Pos, Waking};
use reweave_predict::linear::{self, Linear};
use reweave_predict::oracle::Oracle;
use reweave_predict::search::{SearchLimits, races};
use reweave_predict::testing::{Construct, Draft, FIRST_PC, generate, generate_aimed, shrink, trace_of};
use reweave_trace::Trace;

type Pairs = BTreeSet<(u64, u64)>;

fn pair(one: u64, two: u64) -> (u64, u64) {
    (one.min(two).wrapping_sub(FIRST_PC), one.max(two).wrapping_sub(FIRST_PC))
}

fn listed(trace: &Trace, mut analysis: impl Linear) -> Pairs {
    linear::run(trace, &mut analysis, &mut |_| true).expect("it is in memory");
    let found = analysis.finish();
    assert_eq!(found.dropped, 0);
    found.pairs.iter().map(|candidate| pair(candidate.first_pc.0, candidate.second_pc.0)).collect()
}

/// What the engine finds; memory-order races apart.
fn found(trace: &Trace, mode: Mode) -> (Pairs, Pairs) {
    let limits = SearchLimits { mode, ..SearchLimits::default() };
    let found = races::races(trace, maximal::id(mode), &limits, None, &mut |_| {}).expect("it is in memory");
    assert_eq!((found.stats.refused, found.stats.unknown), (0, 0), "{mode:?}");
    let (mut plain, mut weak) = (Pairs::new(), Pairs::new());
    for finding in found.findings {
        let pcs = pair(finding.accesses()[0].pc.0, finding.accesses()[1].pc.0);
        (if finding.weak_order { &mut weak } else { &mut plain }).insert(pcs);
    }
    (plain, weak)
}

fn oracle(history: &History, mode: Mode) -> Pairs {
    Oracle::new(history, mode).races().into_iter().map(|(one, two)| (one.0.into(), two.0.into())).collect()
}

/// How many pairs each one finds, in the order of [`NAMES`].
type Counts = [usize; 9];
const NAMES: [&str; 9] = ["hb", "shb", "cp", "wcp", "syncp", "lockset", "said", "prefix", "maximal"];

/// The first inclusion that does not hold. All hold for all random traces, with these notes:
/// - a wait that times out while a notify chooses another breaks the last one of `shb` and `syncp`: see
///   [`timeout_beside_a_notify_ok`]; random traces of this size have none;
/// - a compare-exchange beside a read is a race only if it can still be done there, which `shb` and `syncp` do not look
///   at: such pairs of theirs are left to the engine;
/// - what the engine shows only by memory order is among the maximal races for the quick check and nowhere else;
/// - that a pair is listed by `shb` or `syncp` is a race with every read kept, the pair's own apart: they are compared
///   with the oracle, no engine between. Relaxed atomics order nothing there but keep what they read; a failed try
///   follows the acquisition that refused it, and so on (see `linear::channels`).
fn broken(history: &History, counts: &mut Counts) -> Option<String> {
    let trace = trace_of(history)?;
    // No trace says that a pair needs no guard.
    let history = History { pair_unguarded: false, ..history.clone() };
    let (hb, shb) = (listed(&trace, hb::HbRaces::default()), listed(&trace, shb::ShbRaces::default()));
    let (cp, wcp) = (listed(&trace, cp::CpRaces::default()), listed(&trace, wcp::WcpRaces::default()));
    let syncp = listed(&trace, syncp::SyncpRaces::default());
    let lockset = listed(&trace, lockset::LocksetRaces::default());
    let (maximal, weak) = found(&trace, Mode::ControlFlow);
    let (prefix, said) = (found(&trace, Mode::Prefix).0, found(&trace, Mode::Said).0);
    let all: Pairs = maximal.union(&weak).copied().collect();
    let sets = [&hb, &shb, &cp, &wcp, &syncp, &lockset, &said, &prefix, &maximal];
    counts.iter_mut().zip(sets).for_each(|(count, set)| *count += set.len());
    for (mode, found) in [(Mode::ControlFlow, &maximal), (Mode::Prefix, &prefix), (Mode::Said, &said)] {
        if *found != oracle(&history, mode) {
            return Some(format!("{mode:?} is the oracle: {found:?}"));
        }
    }
    let is_settled = |&&(one, two): &&(u64, u64)| history.conflict_rests_on(Pos(one as u32), Pos(two as u32)).is_none();
    let settled = |pairs: &Pairs| -> Pairs { pairs.iter().filter(is_settled).copied().collect() };
    let (sound_shb, sound_syncp) = (settled(&shb), settled(&syncp));
    for (name, smaller, larger) in [
        ("hb ⊆ cp", &hb, &cp),
        ("cp ⊆ wcp", &cp, &wcp),
        ("wcp ⊆ lockset", &wcp, &lockset),
        ("shb ⊆ hb", &shb, &hb),
        ("shb ⊆ syncp", &shb, &syncp),
        ("shb ⊆ prefix", &sound_shb, &prefix),
        ("syncp ⊆ prefix", &sound_syncp, &prefix),
        ("said ⊆ prefix", &said, &prefix),
        ("prefix ⊆ maximal", &prefix, &maximal),
        ("maximal ⊆ lockset", &all, &lockset),
    ] {
        if !smaller.is_subset(larger) {
            return Some(format!("{name}: {smaller:?} {larger:?}"));
        }
    }
    None
}

fn lines(history: &History) -> String {
    let line = |pos: Pos| {
        let step = history.step(pos);
        let guard = if step.guarded { " guarded" } else { "" };
        format!("  {} T{}{guard} after {:?}: {:?}\n", pos.0, step.thread.0, step.after, step.action)
    };
    format!("initial {:?} {:?}\n", history.initial, history.semaphores)
        + &history.positions().map(line).collect::<String>()
}

#[test]
fn inclusions_hold() {
    let mut counts = Counts::default();
    let locks: &[Construct] = &[Construct::NestedLocks, Construct::CrossedLocks];
    for (size, aim, seeds) in [(14, None, 0..600), (20, None, 0..100), (24, Some(locks), 0..100)] {
        for seed in seeds {
            let history = aim.map_or_else(|| generate(seed, size), |aim| generate_aimed(seed, size, aim));
            if let Some(what) = broken(&history, &mut counts) {
                let what = what.split(':').next().unwrap_or_default().to_owned();
                let breaks = |history: &History| broken(history, &mut Counts::default());
                let small = shrink(history, |history| breaks(history).is_some_and(|now| now.starts_with(&what)));
                panic!("seed {seed}, size {size}: {:?}\n{}", breaks(&small), lines(&small));
            }
        }
    }
    println!("power: {:?}", NAMES.iter().zip(counts).collect::<Vec<_>>());
    let at = |name: &str| counts[NAMES.iter().position(|other| *other == name).expect("it is one of them")];
    for (weaker, stronger) in [
        ("hb", "cp"),
        ("cp", "wcp"),
        ("wcp", "lockset"),
        ("shb", "hb"),
        ("shb", "syncp"),
        ("syncp", "prefix"),
        ("said", "prefix"),
        ("prefix", "maximal"),
        ("maximal", "lockset"),
    ] {
        assert!(at(weaker) < at(stronger), "{weaker} and {stronger} find the same: nothing is tested");
    }
}

/// Known wrong: `shb` and `syncp` list a pair that is no race. The second write needs what the notifier wrote, the
/// notifier what the first waiter wrote before its wait, so that the notify comes while that waits; and the other
/// waiter has not come yet, since its write is in question. So the notify would have to choose the wait that then times
/// out. These analyses take notifies for edges to those they woke and know nothing of those they did not; the engine
/// refutes the pair.
#[test]
fn timeout_beside_a_notify_ok() {
    let (x, y, z) = (0, 1, 2);
    let (condition, mut draft) = (Condition(0), Draft::new());
    draft.acquire(0, 0);
    draft.write(0, y, 1);
    draft.step(0, Action::Wait { condition, lock: Lock(0) });
    let one = draft.write(1, x, 1);
    draft.acquire(1, 1);
    draft.step(1, Action::Wait { condition, lock: Lock(1) });
    draft.acquire(2, 0);
    draft.read(2, y, 1);
    let notify = draft.step(2, Action::Notify { condition, all: false });
    draft.write(2, z, 1);
    draft.release(2, 0);
    draft.step(0, Action::Woken { condition, lock: Lock(0), how: Waking::TimedOut });
    draft.read(0, z, 1);
    let two = draft.write(0, x, 2);
    draft.step(1, Action::Woken { condition, lock: Lock(1), how: Waking::Notified });
    draft.guard(notify);
    draft.guard(two);
    let history = draft.history();
    let trace = trace_of(&history).expect("it has one");
    let pair = Pairs::from([(one.0.into(), two.0.into())]);
    assert_eq!(listed(&trace, shb::ShbRaces::default()), pair);
    assert_eq!(listed(&trace, syncp::SyncpRaces::default()), pair);
    assert_eq!(oracle(&history, Mode::ControlFlow), Pairs::new());
    assert_eq!(found(&trace, Mode::ControlFlow).0, Pairs::new());
}
