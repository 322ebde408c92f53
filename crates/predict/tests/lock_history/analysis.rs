//! The streaming analysis: between locksets and the oracle, and tries again what it refuted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, Schedule, Strength, ThreadId, Value};
use reweave_predict::analyses::lock_history::LockHistoryRaces;
use reweave_predict::analyses::lockset::LocksetRaces;
use reweave_predict::history::{Mode, Pos};
use reweave_predict::linear::{Candidate, Linear, run};
use reweave_predict::lock_history::HistoryLimits;
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{FIRST_PC, generate, trace_of};
use reweave_predict::witness;
use reweave_predict::{Options, find, predict};
use reweave_trace::{Meta, Trace, TraceBuilder};

use super::random::locking;

type PcPairs = BTreeSet<(u64, u64)>;

fn pcs(pairs: &[Candidate]) -> PcPairs {
    let pair = |pair: &Candidate| (pair.first_pc.min(pair.second_pc).0, pair.first_pc.max(pair.second_pc).0);
    pairs.iter().map(pair).collect()
}

#[test]
fn between_the_oracle_and_locksets() {
    let (mut races, mut left, mut listed) = (0, 0, 0);
    for seed in 0..600 {
        let history = match seed % 2 {
            0 => generate(seed, 8 + seed as usize % 9),
            _ => locking(seed, 2, 8 + seed as usize % 40),
        };
        let Some(trace) = trace_of(&history) else { continue };
        let mut lockset = LocksetRaces::default();
        run(&trace, &mut lockset, &mut |_| true).expect("a sound trace");
        let lockset = pcs(&lockset.finish().pairs);
        let mut analysis = LockHistoryRaces::default();
        run(&trace, &mut analysis, &mut |_| true).expect("a sound trace");
        let found = pcs(&analysis.finish().pairs);
        assert_eq!(pcs(analysis.lockset_candidates()), lockset, "seed {seed}");
        assert!(found.is_subset(&lockset), "seed {seed}");
        // Every event has its own code position.
        let pc = |pos: Pos| FIRST_PC + u64::from(pos.0);
        for (one, two) in Oracle::new(&history, Mode::DataAbstract).races() {
            assert!(found.contains(&(pc(one), pc(two))), "seed {seed}: {one:?} {two:?}");
            races += 1;
        }
        left += found.iter().filter(|(one, _)| *one >= FIRST_PC).count();
        listed += lockset.iter().filter(|(one, _)| *one >= FIRST_PC).count();
    }
    assert!(races < left && left < listed, "{races} {left} {listed}");
}

/// The positions in a history that a schedule of its trace leads through; `None` if waiting makes steps hard to count.
fn order_along(trace: &Trace, schedule: &Schedule) -> Option<Vec<Pos>> {
    let mut steps: Vec<VecDeque<Pc>> = vec![VecDeque::new()];
    let mut indices = BTreeMap::from([(ThreadId(0), 0)]);
    let mut events = trace.events();
    while let Some(event) = events.next().expect("a sound trace") {
        if let Op::Fork { child, .. } = event.op {
            indices.insert(child, steps.len());
            steps.push(VecDeque::new());
        }
        if matches!(event.op, Op::Blocked { .. } | Op::Refused { .. }) {
            return None;
        }
        if event.op.is_step() {
            steps[indices[&event.thread]].push_back(event.pc);
        }
    }
    let mut order = Vec::new();
    for segment in &schedule.segments {
        let done = steps[segment.thread.index()].drain(..segment.steps as usize);
        order.extend(done.filter_map(|pc| Some(Pos(pc.0.checked_sub(FIRST_PC)? as u32))));
    }
    Some(order)
}

#[test]
fn the_ways_of_strategy_two_are_schedules_that_lead_there() {
    let (mut checked, mut shown) = (0, 0);
    for seed in 0..600 {
        let history = match seed % 3 {
            0 => generate(seed, 8 + seed as usize % 9),
            1 => locking(seed, 2, 8 + seed as usize % 40),
            _ => locking(seed, 4, 8 + seed as usize % 24),
        };
        let Some(trace) = trace_of(&history) else { continue };
        let options =
            Options { analyses: vec![find("lock-history").expect("an analysis")], shown: true, ..Options::default() };
        let answer = predict(&trace, &options, &mut |_, _| {}).expect("a sound trace");
        assert_eq!(answer.shown.len() as u64, answer.stats["lock-history.after_two"], "seed {seed}");
        for finding in &answer.shown {
            assert_eq!(finding.strength, Strength::Potential);
            let pos = |at: usize| finding.accesses()[at].pc.0.checked_sub(FIRST_PC).map(|pos| Pos(pos as u32));
            let (Some(one), Some(two)) = (pos(0), pos(1)) else { continue };
            shown += 1;
            let schedule = &finding.witness().expect("a way is a schedule").schedule();
            let Some(mut order) = order_along(&trace, schedule) else { continue };
            assert_eq!(order.split_off(order.len() - 2), [one, two], "seed {seed}: it ends with the accesses");
            let verdict = witness::check(&history, Mode::DataAbstract, &order, (one, two));
            assert_eq!(verdict, Ok(()), "seed {seed}: {one:?} {two:?} by {order:?}");
            checked += 1;
        }
    }
    assert!(checked > 500 && checked * 2 > shown, "{checked} of {shown}");
}

struct Program(TraceBuilder);

impl Program {
    fn new(threads: u32) -> Self {
        let meta = Meta { tool: "test".into(), instrumented: true, explicit_branches: true, ..Meta::default() };
        let mut program = Self(TraceBuilder::new(&meta));
        program.push(0, 1, Op::Begin);
        (1..=threads).for_each(|child| program.push(0, 2, Op::Fork { child: ThreadId(child), nth: child - 1 }));
        (1..=threads).for_each(|child| program.push(child, 3, Op::Begin));
        program
    }
    fn push(&mut self, thread: u32, pc: u64, op: Op<'_>) {
        self.0.push(ThreadId(thread), Pc(pc), op).expect("memory takes every write");
    }
    fn lock(&mut self, thread: u32, lock: u64) {
        self.push(thread, 10, Op::Acquire { object: ObjectId(lock), mode: LockMode::Exclusive, tried: false });
    }
    fn unlock(&mut self, thread: u32, lock: u64) {
        self.push(thread, 11, Op::Release { object: ObjectId(lock), mode: LockMode::Exclusive });
    }
    fn write(&mut self, thread: u32, pc: u64) {
        let (value, flags) = (Value::Word(0), AccessFlags::default());
        self.push(thread, pc, Op::Write { addr: Addr(0x1000), size: 8, value, flags });
    }
    fn done(self) -> Trace {
        self.0.into_trace().expect("memory takes every write")
    }
}

const OUTER: u64 = 64;
const INNER: u64 = 128;

/// Thread 1 writes at 100 while it holds OUTER, which it never gives back; thread 2 writes at 200 with INNER alone,
/// after a section of OUTER inside INNER that can only come before thread 1's if thread 1 has not yet got INNER.
/// Crossed sections: no lock in common, and yet never at the same time.
fn crossed(program: &mut Program) {
    program.lock(2, INNER);
    program.lock(2, OUTER);
    program.unlock(2, OUTER);
    program.write(2, 200);
    program.unlock(2, INNER);
    program.lock(1, OUTER);
    program.lock(1, INNER);
    program.unlock(1, INNER);
    program.write(1, 100);
}

fn candidates(trace: &Trace, limits: HistoryLimits) -> (PcPairs, PcPairs) {
    let mut analysis = LockHistoryRaces::new(limits);
    run(trace, &mut analysis, &mut |_| true).expect("a sound trace");
    (pcs(&analysis.finish().pairs), pcs(analysis.lockset_candidates()))
}

#[test]
fn crossed_sections_are_refuted() {
    let mut program = Program::new(2);
    crossed(&mut program);
    let (left, lockset) = candidates(&program.done(), HistoryLimits::WHOLE);
    assert_eq!(lockset, BTreeSet::from([(100, 200)]));
    assert_eq!(left, BTreeSet::new());
}

#[test]
fn what_was_refuted_once_is_tried_again() {
    let mut program = Program::new(2);
    crossed(&mut program);
    program.unlock(1, OUTER);
    for _ in 0..100 {
        program.lock(1, OUTER);
        program.unlock(1, OUTER);
    }
    // The same code, without locks this time.
    program.write(2, 200);
    program.write(1, 100);
    let trace = program.done();
    assert_eq!(candidates(&trace, HistoryLimits::WHOLE).0, BTreeSet::from([(100, 200)]));
    // With a short memory it is not refuted either, for want of knowledge.
    let short = HistoryLimits { history: 4, ..HistoryLimits::LIVE };
    assert_eq!(candidates(&trace, short).0, BTreeSet::from([(100, 200)]));
}

#[test]
fn nothing_is_predicted_without_a_witness() {
    let mut program = Program::new(2);
    crossed(&mut program);
    program.write(2, 300);
    let options = Options { analyses: vec![find("lock-history").expect("an analysis")], ..Options::default() };
    let answer = predict(&program.done(), &options, &mut |_, _| {}).expect("a sound trace");
    assert!(!answer.findings.is_empty());
    for finding in &answer.findings {
        assert_eq!(finding.strength == Strength::Predicted, finding.witness().is_some(), "{finding:?}");
    }
    assert_eq!(answer.stats["lock-history.after_lockset"], 2);
    assert_eq!(answer.stats["lock-history.after_one"], 1);
    assert_eq!(answer.stats["lock-history.after_two"], 1);
}
