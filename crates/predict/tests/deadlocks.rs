//! Deadlocks and stalls against the oracle, on random histories. `REWEAVE_ORACLE=SMALL,LARGE` (histories of up to 16
//! and of up to 24 events) makes the run longer; `cargo xtask oracle deadlocks` does so.

use std::collections::BTreeSet;

use reweave_model::Pc;
use reweave_predict::analyses::goodlock::Goodlock;
use reweave_predict::analyses::sync_preserving_deadlock::SyncpDeadlocks;
use reweave_predict::feasible::Index;
use reweave_predict::history::{Action, History, Mode, Pos, Waking};
use reweave_predict::linear::{Linear, run};
use reweave_predict::oracle::Oracle;
use reweave_predict::search::deadlocks::{Verdict, ask, groups};
use reweave_predict::search::stalls::{self, Endings};
use reweave_predict::testing::{Draft, FIRST_PC, generate, generate_locking, is_history, shrink, trace_of};
use reweave_predict::{SearchLimits, witness};
use reweave_trace::Trace;

const MODES: [Mode; 3] = [Mode::ControlFlow, Mode::Prefix, Mode::DataAbstract];

type Cycles = BTreeSet<Vec<Pos>>;

fn sorted(cycle: &[Pos]) -> Vec<Pos> {
    let mut cycle = cycle.to_vec();
    cycle.sort_unstable();
    cycle
}

/// What the engine finds, all cycles asked about.
fn maximal(history: &History, mode: Mode) -> Result<Cycles, String> {
    let index = Index::new(history);
    let (groups, more) = groups(history, &index, &|pos| Pc(pos.0.into()));
    if more || groups.iter().any(|group| group.more) {
        return Err("not all cycles were looked at".to_owned());
    }
    let limits = SearchLimits { mode, ..SearchLimits::default() };
    let mut found = Cycles::new();
    for cycle in groups.iter().flat_map(|group| &group.cycles) {
        match ask(&index, history, &limits, cycle) {
            Verdict::Deadlock(_) => drop(found.insert(sorted(cycle))),
            Verdict::None => {}
            Verdict::Unknown => return Err(format!("{mode:?} {cycle:?}: no answer")),
            Verdict::Refused => return Err(format!("{mode:?} {cycle:?}: the checker refuses the order")),
        }
    }
    Ok(found)
}

/// What the engine finds, all cuts asked about.
fn stalls(history: &History, mode: Mode) -> Result<Cycles, String> {
    let ended = vec![true; history.threads.len()];
    let endings = Endings { ended: &ended, waits: &|_| true };
    let limits = SearchLimits { mode, ..SearchLimits::default() };
    let mut found = Cycles::new();
    for cut in stalls::cuts(history, &endings, &limits, &|pos| Pc(pos.0.into())) {
        match stalls::ask(history, &endings, &limits, &cut) {
            stalls::Verdict::Stall(_) => drop(found.insert(sorted(&cut.members))),
            stalls::Verdict::None => {}
            stalls::Verdict::Unknown => return Err(format!("{mode:?} {cut:?}: no answer")),
            stalls::Verdict::Refused => return Err(format!("{mode:?} {cut:?}: the checker refuses the order")),
        }
    }
    Ok(found)
}

/// What a streaming analysis lists.
fn listed(trace: &Trace, mut analysis: impl Linear) -> Cycles {
    run(trace, &mut analysis, &mut |_| true).expect("a sound trace");
    let found = analysis.finish();
    assert_eq!(found.dropped, 0);
    let positions = |pcs: &Vec<Pc>| sorted(&pcs.iter().map(|pc| Pos((pc.0 - FIRST_PC) as u32)).collect::<Vec<_>>());
    found.cycles.iter().map(|cycle| positions(&cycle.pcs)).collect()
}

#[derive(Default)]
struct Totals {
    deadlocks: [usize; 3],
    longer: usize,
    traces: usize,
    goodlock: usize,
    sync_preserving: usize,
}

/// Where the analyses and the oracle disagree.
fn differs(history: &History, totals: &mut Totals) -> Option<String> {
    let mut exact = Cycles::new();
    for (at, mode) in MODES.into_iter().enumerate() {
        let oracle = Oracle::new(history, mode).deadlocks();
        match maximal(history, mode) {
            Ok(found) if found == oracle => {}
            Ok(found) => return Some(format!("{mode:?}: engine {found:?}, oracle {oracle:?}")),
            Err(what) => return Some(what),
        }
        totals.deadlocks[at] += oracle.len();
        totals.longer += oracle.iter().filter(|cycle| cycle.len() > 2).count();
        if mode == Mode::ControlFlow {
            exact = oracle;
        }
    }
    let trace = trace_of(history)?;
    totals.traces += 1;
    let goodlock = listed(&trace, Goodlock::default());
    if !exact.is_subset(&goodlock) {
        return Some(format!("goodlock {goodlock:?}, oracle {exact:?}"));
    }
    totals.goodlock += goodlock.len();
    let sync_preserving = listed(&trace, SyncpDeadlocks::default());
    // Known wrong beside a wait that timed out, see `syncp`: the engine refutes it.
    let timed_out = |action: &Action| matches!(action, Action::Woken { how: Waking::TimedOut, .. });
    let known = history.steps.iter().any(|step| timed_out(&step.action));
    if !sync_preserving.is_subset(&exact) && !known {
        return Some(format!("sync-preserving {sync_preserving:?}, oracle {exact:?}"));
    }
    totals.sync_preserving += sync_preserving.len();
    None
}

/// Where stalls and the oracle disagree.
fn stalls_differ(history: &History, totals: &mut [usize; 3]) -> Option<String> {
    for (total, mode) in totals.iter_mut().zip(MODES) {
        let oracle = Oracle::new(history, mode).stalls();
        match stalls(history, mode) {
            Ok(found) if found == oracle => *total += oracle.len(),
            Ok(found) => return Some(format!("{mode:?}: engine {found:?}, oracle {oracle:?}")),
            Err(what) => return Some(what),
        }
    }
    None
}

/// Half of them with all there is to wait for and many locks.
fn agree_on_stalls(name: &str, seeds: std::ops::Range<u64>, size: usize) {
    let mut totals = [0; 3];
    let histories = seeds.clone().count();
    for seed in seeds {
        let history = if seed % 2 == 0 { generate(seed, size) } else { generate_locking(seed, size, true) };
        if stalls_differ(&history, &mut totals).is_some() {
            let small = shrink(history, |history| stalls_differ(history, &mut [0; 3]).is_some());
            let what = stalls_differ(&small, &mut [0; 3]).expect("it still differs");
            panic!("seed {seed}, size {size}: {what}\n{small:#?}");
        }
    }
    let [control_flow, prefix, data_abstract] = totals;
    println!(
        "deadlocks stalls {name}: {histories} histories, {control_flow} control-flow stalls, {prefix} prefix stalls, \
         {data_abstract} data-abstract stalls"
    );
    assert!(control_flow > histories / 10, "too few stalls to tell: {totals:?}");
}

#[test]
fn stalls_are_the_oracles_on_small_histories() {
    agree_on_stalls("small", 0..counts().0, 14);
}

#[test]
fn stalls_are_the_oracles_on_larger_histories() {
    agree_on_stalls("larger", 0..counts().1, 20);
}

/// Most of them full of nested locks.
fn history(seed: u64, size: usize) -> History {
    match seed % 4 {
        0 => generate(seed, size),
        1 => generate_locking(seed, size, true),
        _ => generate_locking(seed, size, false),
    }
}

fn agree(name: &str, seeds: std::ops::Range<u64>, size: usize) {
    let mut totals = Totals::default();
    let histories = seeds.clone().count();
    for seed in seeds {
        let history = history(seed, size);
        assert!(is_history(&history), "seed {seed}");
        if differs(&history, &mut totals).is_some() {
            let small = shrink(history, |history| differs(history, &mut Totals::default()).is_some());
            let what = differs(&small, &mut Totals::default()).expect("it still differs");
            panic!("seed {seed}, size {size}: {what}\n{small:#?}");
        }
    }
    let Totals { deadlocks: [control_flow, prefix, data_abstract], longer, traces, goodlock, sync_preserving } = totals;
    println!(
        "deadlocks {name}: {histories} histories, {control_flow} control-flow deadlocks, {prefix} prefix deadlocks, \
         {data_abstract} data-abstract deadlocks, {longer} of more than two threads, {traces} traces, \
         {goodlock} goodlock cycles, {sync_preserving} sync-preserving deadlocks"
    );
    assert!(prefix > histories / 20 && sync_preserving > histories / 50, "too few deadlocks to tell");
    assert!(prefix <= control_flow && control_flow <= data_abstract && control_flow < goodlock * 2);
}

fn counts() -> (u64, u64) {
    let long = std::env::var("REWEAVE_ORACLE").ok();
    let long = long.as_deref().and_then(|text| text.split_once(','));
    long.and_then(|(small, large)| Some((small.parse().ok()?, large.parse().ok()?))).unwrap_or((1200, 60))
}

#[test]
fn deadlocks_are_the_oracles_on_small_histories() {
    agree("small", 0..counts().0, 16);
}

#[test]
fn deadlocks_are_the_oracles_on_larger_histories() {
    agree("larger", 0..counts().1, 24);
}

/// The checker accepts what the oracle says is a deadlock, after the order that leads there, and nothing near it.
#[test]
fn checker_agrees_with_the_oracle() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..400 {
        let history = history(seed, 14);
        let oracle = Oracle::new(&history, Mode::ControlFlow);
        let deadlocks = oracle.deadlocks();
        if deadlocks.is_empty() {
            continue;
        }
        oracle.visit(|_, _, reached| {
            let path = reached.path();
            let here = reached.deadlocks();
            for cycle in &deadlocks {
                let verdict = witness::check_deadlock(&history, Mode::ControlFlow, &path, cycle);
                assert_eq!(verdict.is_ok(), here.contains(cycle), "seed {seed} {path:?} {cycle:?}: {verdict:?}");
                *(if verdict.is_ok() { &mut accepted } else { &mut rejected }) += 1;
            }
        });
    }
    assert!(accepted > 80 && rejected > 1_000, "{accepted} {rejected}");
}

/// Found by a long run: a thread that stands before its arrival at a barrier is not one of those who use it.
#[test]
fn an_arrival_to_come_fills_no_round() {
    agree_on_stalls("found", 38_550..38_570, 14);
}

/// The checker accepts an order as one that leads to a stall if and only if the oracle says so.
#[test]
fn checker_agrees_with_the_oracle_on_stalls() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..300 {
        let history = if seed % 2 == 0 { generate(seed, 12) } else { generate_locking(seed, 12, true) };
        let ended = vec![true; history.threads.len()];
        let endings = Endings { ended: &ended, waits: &|_| true };
        let oracle = Oracle::new(&history, Mode::ControlFlow);
        // One order may lead to several states, by whom its notifies choose.
        let mut by_path: std::collections::BTreeMap<Vec<Pos>, Option<Vec<Pos>>> = Default::default();
        oracle.visit(|state, _, reached| {
            let waits = state.waiting.iter().flatten().count();
            let stall = reached.stall();
            if waits == 0 || stall.is_some() {
                by_path.insert(reached.path(), stall);
            }
        });
        for (path, stall) in by_path {
            let verdict = witness::check_stall(&history, Mode::ControlFlow, &path, &endings);
            let members = verdict.clone().ok().map(|members| sorted(&members));
            assert_eq!(members, stall, "seed {seed} {path:?}: {verdict:?}\n{history:#?}");
            *(if stall.is_some() { &mut accepted } else { &mut rejected }) += 1;
        }
    }
    assert!(accepted > 50 && rejected > 1_000, "{accepted} {rejected}");
}

/// How the first thread of [`segmented`] learns that the second is through with its locks.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Handshake {
    /// Not at all.
    None,
    /// It reads what the second writes afterwards: how a Java join looks to a recorder that does not know it.
    Read,
    /// It joins it.
    Join,
}

/// The example of Bensalem and Havelund (Dynamic deadlock analysis of multi-threaded programs, 2005): of the cycles
/// over its two locks one is by a single thread, one is guarded by a gate lock, one is *segmented* (the first thread
/// asks for its locks the other way round once the second, its child, is through), and one is a deadlock: that of the
/// second and the third thread. Returns the deadlock and the segmented cycle with it. Every read guards what follows
/// it, as in traces without branches.
fn segmented(handshake: Handshake) -> (History, [Vec<Pos>; 2]) {
    let (gate, left, right, monitor, through) = (0, 1, 2, 3, 0);
    let mut draft = Draft::new();
    let nested = |draft: &mut Draft, thread: u32, locks: [u32; 2]| {
        draft.acquire(thread, locks[0]);
        let wanted = draft.acquire(thread, locks[1]);
        draft.release(thread, locks[1]);
        draft.release(thread, locks[0]);
        wanted
    };
    draft.acquire(0, gate);
    nested(&mut draft, 0, [left, right]);
    draft.release(0, gate);
    let fork = draft.nothing(0);
    let begin = draft.nothing(1);
    draft.order(fork, begin);
    let second = nested(&mut draft, 1, [left, right]);
    draft.acquire(1, monitor);
    draft.write(1, through, 1);
    draft.release(1, monitor);
    let end = draft.nothing(1);
    draft.acquire(0, monitor);
    if handshake == Handshake::Read {
        draft.read(0, through, 1);
    }
    draft.release(0, monitor);
    let join = draft.nothing(0);
    if handshake == Handshake::Join {
        draft.order(end, join);
    }
    let first = nested(&mut draft, 0, [right, left]);
    draft.acquire(2, gate);
    let third = nested(&mut draft, 2, [right, left]);
    draft.release(2, gate);
    draft.guard_all();
    (draft.history(), [sorted(&[second, third]), sorted(&[first, second])])
}

/// The segmented cycle is no deadlock: for the first thread to stand before its request, its read of what the second
/// wrote (or its join) must have happened, and with it all that the second did before, its own request included. That
/// one event decides: without it both are deadlocks, and sync-preserving ones.
///
/// A published table has two deadlocks for this program. Two is the number of its patterns (cycles of different threads
/// that hold no lock in common). The log of the predictor behind it shows seven threads for a run of four: the thread
/// that is forked or joined is to it another one than the one that runs, so that a join orders nothing, and it takes
/// the segmented cycle for a deadlock. A later implementation of the same algorithm that connects them finds one, on
/// that recording and on the one in the corpus, as we do.
#[test]
fn one_event_decides_about_a_segmented_cycle() {
    for (handshake, deadlocks) in [(Handshake::Read, 1), (Handshake::Join, 1), (Handshake::None, 2)] {
        let (history, cycles) = segmented(handshake);
        assert!(is_history(&history));
        let expected: Cycles = cycles[..deadlocks].iter().cloned().collect();
        assert_eq!(Oracle::new(&history, Mode::ControlFlow).deadlocks(), expected, "{handshake:?}");
        assert_eq!(maximal(&history, Mode::ControlFlow), Ok(expected.clone()), "{handshake:?}");
        let trace = trace_of(&history).expect("nothing that a trace cannot say");
        assert_eq!(listed(&trace, SyncpDeadlocks::default()), expected, "{handshake:?}");
        let patterns = if handshake == Handshake::Join { 1 } else { 2 };
        assert_eq!(listed(&trace, Goodlock::default()), cycles[..patterns].iter().cloned().collect(), "{handshake:?}");
    }
}

/// Small traces of the literature, every reordering looked at. The folder comes from `REWEAVE_CORPUS`.
#[test]
fn corpus_by_the_oracle() {
    let Some(corpus) = std::env::var_os("REWEAVE_CORPUS").map(std::path::PathBuf::from) else {
        return println!("left out: corpus_by_the_oracle: REWEAVE_CORPUS is not set");
    };
    for (name, deadlocks) in [("Bensalem.std", 1), ("Deadlock.std", 0), ("StringBuffer.std", 2)] {
        let trace = reweave_trace::open(corpus.join("deadlock").join(name)).expect("readable");
        let history = reweave_predict::lower::whole(&trace).expect("readable").history;
        let oracle = Oracle::new(&history, Mode::ControlFlow).deadlocks();
        assert_eq!(maximal(&history, Mode::ControlFlow).as_ref(), Ok(&oracle), "{name}");
        assert_eq!(oracle.len(), deadlocks, "{name}: {oracle:?}");
    }
}

/// The trace of the published table, as it is and without the one read that
/// [`one_event_decides_about_a_segmented_cycle`] is about.
#[test]
fn one_read_of_the_corpus_decides() {
    let Some(corpus) = std::env::var_os("REWEAVE_CORPUS").map(std::path::PathBuf::from) else {
        return println!("left out: one_read_of_the_corpus_decides: REWEAVE_CORPUS is not set");
    };
    let text = std::fs::read_to_string(corpus.join("deadlock/Bensalem.std")).expect("readable");
    let deadlocks = |text: &str| {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("one_read_of_the_corpus.std");
        std::fs::write(&path, text).expect("writable");
        let trace = reweave_trace::open(&path).expect("readable");
        let history = reweave_predict::lower::whole(&trace).expect("readable").history;
        let oracle = Oracle::new(&history, Mode::ControlFlow).deadlocks();
        assert_eq!(maximal(&history, Mode::ControlFlow).as_ref(), Ok(&oracle));
        let mut sync_preserving = SyncpDeadlocks::default();
        run(&trace, &mut sync_preserving, &mut |_| true).expect("a sound trace");
        assert_eq!(sync_preserving.finish().cycles.len(), oracle.len());
        oracle.len()
    };
    assert_eq!(deadlocks(&text), 1);
    assert_eq!(deadlocks(&text.replace("T1|r(V3)|18\n", "")), 2);
}
