//! From a random history to a trace and back: lowering keeps the races in all modes, and windows invent none.

use std::collections::BTreeSet;

use reweave_model::{EventId, Pc};
use reweave_order::Budget;
use reweave_predict::feasible::{Feasibility, Goal, Index, Question};
use reweave_predict::history::{History, Mode, Pos};
use reweave_predict::lower::{self, Lowered, Windows};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{FIRST_PC, generate, shrink, trace_of};
use reweave_trace::Trace;

const MODES: [Mode; 4] = [Mode::ControlFlow, Mode::Prefix, Mode::Said, Mode::DataAbstract];

type Pairs = BTreeSet<(u64, u64)>;

/// What a trace can say of a history: not that the pair in question needs no guard.
fn sayable(seed: u64, size: usize) -> History {
    let mut history = generate(seed, size);
    history.pair_unguarded = false;
    history
}

fn races(history: &History, mode: Mode, name: impl Fn(Pos) -> u64) -> Pairs {
    let pairs = Oracle::new(history, mode).races().into_iter();
    pairs.map(|(one, two)| (name(one).min(name(two)), name(one).max(name(two)))).collect()
}

/// One line per event.
fn lines(history: &History) -> String {
    let line = |pos: Pos| {
        let step = history.step(pos);
        let guard = if step.guarded { " guarded" } else { "" };
        format!("  {} T{}{guard} after {:?}: {:?}\n", pos.0, step.thread.0, step.after, step.action)
    };
    format!("initial {:?} {:?}\n", history.initial, history.semaphores)
        + &history.positions().map(line).collect::<String>()
}

fn whole(trace: &Trace) -> Lowered {
    lower::whole(trace).expect("it is in memory")
}

fn names(lowered: &Lowered) -> impl Fn(Pos) -> u64 + '_ {
    |pos| match lowered.origin(pos).pc {
        Pc(pc) if pc >= FIRST_PC => pc - FIRST_PC,
        Pc(pc) => 1_000_000 + pc,
    }
}

/// How lowering changes the races of a history.
fn lowering_differs(history: &History) -> Option<String> {
    let trace = trace_of(history)?;
    let report = reweave_trace::check::check(&trace).expect("it is in memory");
    // Three cells at once are more than the hardware does; the rules do not mind.
    if let Some(wrong) = report.inconsistencies.iter().find(|wrong| !wrong.what.contains("an atomic access of")) {
        return Some(format!("not a trace: {wrong:?}"));
    }
    let lowered = whole(&trace);
    for mode in MODES {
        let wanted = races(history, mode, |pos| pos.0.into());
        let found = races(&lowered.history, mode, names(&lowered));
        if wanted != found {
            return Some(format!("{mode:?}: history {wanted:?}, lowered {found:?}\n{}", lines(&lowered.history)));
        }
    }
    None
}

/// Asks the engine about every conflicting pair of a window.
fn engine_races(lowered: &Lowered, mode: Mode) -> Pairs {
    let history = &lowered.history;
    let index = Index::new(history);
    let name = names(lowered);
    let mut found = Pairs::new();
    for one in history.positions() {
        for two in history.positions().skip(one.index() + 1).filter(|&two| history.conflict(one, two)) {
            let orders: &[(Pos, Pos)] = if mode == Mode::Said { &[(one, two), (two, one)] } else { &[(one, two)] };
            let race = |&pair: &(Pos, Pos)| {
                let question = Question::new(&index, mode, Goal::race(history, mode, pair));
                question.is_some_and(|question| matches!(question.ask(Budget::default()).0, Feasibility::Reordering(_)))
            };
            if history.step(one).event.is_some() && history.step(two).event.is_some() && orders.iter().any(race) {
                found.insert((name(one).min(name(two)), name(one).max(name(two))));
            }
        }
    }
    found
}

type NextWindow = fn(&mut Windows<'_>, u64, &Trace) -> Option<Lowered>;

fn next(windows: &mut Windows<'_>, _: u64, _: &Trace) -> Option<Lowered> {
    windows.next_window().expect("it is in memory")
}

/// Around two events, from every third one on.
fn next_between(windows: &mut Windows<'_>, given: u64, trace: &Trace) -> Option<Lowered> {
    let mut starts = (given * 3..trace.event_count()).step_by(3);
    starts.find_map(|first| windows.between(EventId(first), EventId(first + 5)).expect("it is in memory"))
}

/// A race of a window that the history does not have. A complete window is not a complete history (what follows
/// may miss a last write), so that of [`Mode::Said`] only the reads are kept.
fn window_invents(history: &History, size: usize, next: NextWindow) -> Option<String> {
    let trace = trace_of(history)?;
    let mut windows = Windows::new(&trace, size, &mut |_| true).expect("it is in memory");
    let known: Vec<(Mode, Pairs)> =
        [Mode::ControlFlow, Mode::Prefix].map(|mode| (mode, races(history, mode, |pos| pos.0.into()))).into();
    let mut given = 0;
    while let Some(window) = next(&mut windows, given, &trace) {
        given += 1;
        for (mode, within) in [(Mode::ControlFlow, 0), (Mode::Prefix, 1), (Mode::Said, 1)] {
            let found = engine_races(&window, mode);
            if let Some(pair) = found.difference(&known[within].1).next() {
                return Some(format!(
                    "{mode:?}, windows of {size} from event {}: {pair:?} is no race:\n{}",
                    window.start,
                    lines(&window.history)
                ));
            }
        }
    }
    None
}

fn never(seeds: std::ops::Range<u64>, size: usize, wrong: impl Fn(&History) -> Option<String>) -> usize {
    let mut told = 0;
    for seed in seeds {
        let history = sayable(seed, size);
        told += usize::from(trace_of(&history).is_some());
        if wrong(&history).is_some() {
            let small = shrink(history, |history| wrong(history).is_some());
            panic!("seed {seed}, size {size}: {}\n{}", wrong(&small).expect("it is still wrong"), lines(&small));
        }
    }
    told
}

#[test]
fn lowering_keeps_the_races() {
    let told = never(0..1200, 14, lowering_differs);
    assert!(told >= 1000, "only {told} histories have traces");
}

#[test]
fn windows_invent_no_races() {
    let told = never(0..200, 16, |history| [4, 9, 16].into_iter().find_map(|size| window_invents(history, size, next)));
    assert!(told >= 150, "only {told} histories have traces");
}

#[test]
fn windows_around_two_events_invent_no_races() {
    let told = never(0..300, 16, |history| window_invents(history, 16, next_between));
    assert!(told >= 200, "only {told} histories have traces");
}
