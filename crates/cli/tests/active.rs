//! Active testing alone, without a witness to follow: how often a run in which threads are paused shows a deadlock, and
//! how often a pause was in vain, with and without yielding, context and abstractions (Figure 6.1 of Park's thesis).
//!
//! A normal run takes Program 5.2, of which the thesis says what happens. `REWEAVE_ACTIVE=N` (`cargo xtask survey
//! active`) takes N runs of every deadlock of the golden programs.

mod common;

use common::golden::{Program, folders, programs};
use common::{FRONT_ENDS, Scratch, root};
use reweave_hunt::confirm::RunSettings;
use reweave_hunt::confirm::active::{Abstraction, ActiveSettings, trial};
use reweave_launch::{Input, Options, Output, session};
use reweave_model::{Finding, Kind};
use reweave_trace::Trace;

const VARIANTS: [(&str, ActiveSettings); 6] = [
    ("sites", ActiveSettings { abstraction: Abstraction::Sites, ..ActiveSettings::PRECISE }),
    ("indexing", ActiveSettings::PRECISE),
    ("names", ActiveSettings { abstraction: Abstraction::Name, ..ActiveSettings::PRECISE }),
    ("no abstraction", ActiveSettings { abstraction: Abstraction::Trivial, ..ActiveSettings::PRECISE }),
    ("no context", ActiveSettings { context: false, ..ActiveSettings::PRECISE }),
    ("no yielding", ActiveSettings { yields: false, ..ActiveSettings::PRECISE }),
];

/// Deadlocks of a program that a recorded run predicts: the run, and each finding.
fn deadlocks(program: &Program, scratch: &Scratch) -> (Trace, Vec<Finding>) {
    let built = program.build(scratch, common::golden::GCC, "-O1").unwrap_or_else(|why| panic!("{why}"));
    let mut options = Options::new(FRONT_ENDS, vec![built.into()], scratch.join("first.rwt"));
    options.input = Input::Nothing;
    options.output = Output::File(scratch.join("output"));
    let run = session::run(&options).expect("a recorded run");
    let trace = Trace::open(&run.processes.first().expect("it was recorded").path).expect("the trace");
    let found = reweave_predict::predict(&trace, &reweave_predict::Options::default(), &mut |_, _| ());
    let mut found = found.expect("predictions").findings;
    found.retain(|finding| {
        finding.kind == Kind::Deadlock && finding.accesses().iter().all(|one| !one.locks_held.is_empty())
    });
    (trace, found)
}

/// Runs that did it, and pauses in vain.
fn measure(trace: &Trace, finding: &Finding, manner: ActiveSettings, runs: u64) -> (u64, u64) {
    let settings = RunSettings { front_ends: FRONT_ENDS, ..RunSettings::default() };
    (1..=runs).fold((0, 0), |(done, thrashes), seed| {
        let one = trial(trace, finding, manner, seed, &settings).expect("a run");
        let (did, tries) = one.expect("a deadlock");
        (done + u64::from(did), thrashes + u64::from(tries.thrashes))
    })
}

#[test]
fn yielding_makes_the_deadlock_of_program_5_2() {
    let scratch = Scratch::new("active");
    let program = Program::read(&root().join("tests/papers/program_5_2.c"));
    let (trace, found) = deadlocks(&program, &scratch);
    let [deadlock] = &found[..] else { panic!("one deadlock: {found:?}") };
    let (with, thrashes) = measure(&trace, deadlock, ActiveSettings::PRECISE, 10);
    let (without, more) = measure(&trace, deadlock, ActiveSettings { yields: false, ..ActiveSettings::PRECISE }, 10);
    assert_eq!((with, thrashes), (10, 0), "with yielding");
    assert!(without < with && more > 0, "without yielding {without} of 10, {more} pauses in vain");
}

#[test]
fn variants() {
    let Some(runs) = std::env::var("REWEAVE_ACTIVE").ok().map(|runs| runs.parse().expect("a number of runs")) else {
        return;
    };
    let mut all: Vec<Program> = folders().iter().flat_map(|folder| programs(folder)).collect();
    all.retain(|program| program.kind == "deadlock");
    for paper in ["program_2_2.c", "program_2_3.c", "program_5_2.c", "ring.c"] {
        all.push(Program::read(&root().join("tests/papers").join(paper)));
    }
    let mut sums = [(0, 0); VARIANTS.len()];
    let mut count = 0;
    for program in all {
        let scratch = Scratch::new("active");
        let (trace, found) = deadlocks(&program, &scratch);
        for finding in &found {
            count += 1;
            let mut line = String::new();
            for ((name, manner), sum) in VARIANTS.iter().zip(&mut sums) {
                let (done, thrashes) = measure(&trace, finding, *manner, runs);
                (sum.0, sum.1) = (sum.0 + done, sum.1 + thrashes);
                line += &format!(" {name} {done}/{thrashes}");
            }
            println!("active {}:{line}", program.name());
        }
    }
    println!("{count} deadlocks, {runs} runs each: probability, pauses in vain per run");
    for ((name, _), (done, thrashes)) in VARIANTS.iter().zip(sums) {
        let of = |number: u64| number as f64 / (count * runs).max(1) as f64;
        println!("  {name}: {:.2}, {:.2}", of(done), of(thrashes));
    }
}
