//! The same findings, in the same order and with the same witnesses, however many threads look for them; and what is
//! listed without witnesses.

use std::fmt::Write;

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, ThreadId, Value};
use reweave_predict::testing::Random;
use reweave_predict::{Options, PredictionResult, SearchLimits, find, predict};
use reweave_trace::{Trace, TraceBuilder};

const THREADS: u32 = 4;
const LOCKS: u64 = 3;

/// Threads that use what belongs to locks, now and then without them.
fn trace(seed: u64, events: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::default();
    let mut push = |thread: u32, pc: u64, op: Op<'_>| builder.push(ThreadId(thread), Pc(pc), op).expect("in memory");
    for child in 1..THREADS {
        push(0, 1, Op::Fork { child: ThreadId(child), nth: child - 1 });
    }
    let lock = |lock: u64| ObjectId(0x1000 + 64 * lock);
    let mut held: [Option<u64>; THREADS as usize] = [None; THREADS as usize];
    let mut values = [0; 3 * LOCKS as usize];
    for event in 0..events {
        let thread = random.below(THREADS as usize);
        let own = held[thread];
        match (own, random.below(4)) {
            (None, 0) => {
                let wanted = random.below(LOCKS as usize) as u64;
                if !held.contains(&Some(wanted)) {
                    held[thread] = Some(wanted);
                    let op = Op::Acquire { object: lock(wanted), mode: LockMode::Exclusive, tried: false };
                    push(thread as u32, 100 + wanted, op);
                }
            }
            (Some(own), 0) => {
                held[thread] = None;
                push(thread as u32, 200 + own, Op::Release { object: lock(own), mode: LockMode::Exclusive });
            }
            _ => {
                let belongs = own.unwrap_or_else(|| random.below(LOCKS as usize) as u64);
                if own.is_none() && random.below(8) != 0 {
                    continue;
                }
                let variable = belongs * 3 + random.below(3) as u64;
                let (addr, flags) = (Addr(0x8000 + 8 * variable), AccessFlags(0));
                let pc = 300 + 10 * variable + random.below(4) as u64;
                if random.below(3) == 0 {
                    values[variable as usize] = event;
                    push(thread as u32, pc, Op::Write { addr, size: 8, value: Value::Word(event), flags });
                } else {
                    let value = Value::Word(values[variable as usize]);
                    push(thread as u32, pc + 4, Op::Read { addr, size: 8, value, flags });
                }
            }
        }
    }
    builder.into_trace().expect("in memory")
}

fn run(trace: &Trace, analyses: &[&str], jobs: usize, candidates: bool) -> PredictionResult {
    let analyses = analyses.iter().map(|name| find(name).expect("an analysis")).collect();
    let limits = SearchLimits { window: Some(80), jobs, ..SearchLimits::default() };
    let options = Options { analyses, candidates, limits, ..Options::default() };
    predict(trace, &options, &mut |_, _| {}).expect("in memory")
}

fn shown(answer: &PredictionResult) -> String {
    answer.findings.iter().fold(String::new(), |mut all, finding| {
        writeln!(all, "{finding:?}").expect("text");
        all
    })
}

#[test]
fn findings_do_not_depend_on_the_number_of_threads() {
    let mut found = 0;
    for seed in 0..12 {
        let trace = trace(seed, 900);
        for analyses in [&[][..], &["hb", "wcp"], &["maximal", "prefix", "lockset"], &["shb", "serializability"]] {
            let one = run(&trace, analyses, 1, false);
            found += one.findings.len();
            for jobs in [2, 5] {
                let many = run(&trace, analyses, jobs, false);
                assert_eq!(shown(&many), shown(&one), "seed {seed}, {analyses:?}, {jobs} threads");
                assert_eq!(many.unknown_pairs, one.unknown_pairs, "seed {seed}, {analyses:?}, {jobs} threads");
            }
        }
    }
    assert!(found > 500, "{found}");
}

#[test]
fn candidates_are_what_the_pass_lists() {
    let trace = trace(1, 900);
    let listed = run(&trace, &[], 1, true);
    assert!(!listed.findings.is_empty());
    assert!(listed.findings.iter().all(|finding| finding.witness().is_none()));
    assert_eq!(listed.stats.get("questions"), None);
    let hb = run(&trace, &["hb"], 1, true);
    assert_eq!(hb.findings.len() as u64, hb.stats["hb.pairs"]);
    // Nothing that happens-before leaves unordered is missing once the engine was asked, either.
    assert_eq!(run(&trace, &["hb"], 1, false).findings.len(), hb.findings.len());
}
