//! Every golden program, built by both compilers and recorded under several schedules: the right ones behave as always,
//! every trace hangs together, and a recorded write explains every read of shared memory.
//!
//! Looking at fewer accesses (`reweave watch --sample`) loses no pair of places that race in any of them.
//!
//! A normal run takes each program once and a sample of the other combinations. `REWEAVE_SOAK=N` (`cargo xtask soak`)
//! takes all of them: both compilers, -O0 and -O2, N schedules each.

mod common;

use std::time::Duration;

use common::Scratch;
use common::golden::{Compiler, Ending, GCC, Program, compilers, folders, programs};
use common::run::run_with;
use common::traces::{self, Checked};
use reweave_trace::Outcome;

/// For one recorded run, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Known limit: clang does not instrument fields of locals that escaped (`tests/bad_days/escaped_local.c`), and the
/// queue or event of these is such a local.
const ESCAPED_LOCAL: [&str; 3] = ["patterns/destroy_cond_ok.cpp", "patterns/queue_bad.cpp", "patterns/queue_ok.cpp"];

/// How the threads take turns in one run.
#[derive(Clone, Copy)]
struct Turns {
    policy: &'static str,
    quantum: u32,
    seed: u64,
}

impl Turns {
    /// The `n`th way: short slices, random, priorities, then again with the next seed.
    fn nth(n: u64) -> Self {
        let (policy, quantum) = [("random", 0), ("quantum", 7), ("pct", 0), ("quantum", 100)][n as usize % 4];
        Self { policy, quantum, seed: n }
    }
}

#[derive(Default)]
struct Totals {
    runs: u64,
    events: u64,
    inconsistencies: u64,
    unexplained: Vec<(u64, String)>,
    /// Those of [`ESCAPED_LOCAL`].
    known: Vec<(u64, String)>,
    /// Of the live analyses that look at fewer accesses.
    sampled: reweave_predict::live::Totals,
    failures: Vec<String>,
}

impl Totals {
    /// Builds a program and records it under each of these schedules.
    fn try_out(&mut self, program: &Program, compiler: Compiler, level: &str, turns: &[Turns]) {
        let scratch = Scratch::new("golden");
        let built = match program.build(&scratch, compiler, level) {
            Ok(built) => built,
            Err(why) => return self.failures.push(why),
        };
        let input = program.stdin.as_deref();
        // Without us it must behave as always; what it says then is what it has to say.
        let plain = program.is_ok().then(|| run_with(&mut scratch.command(&built), input, LIMIT));
        if let Some(plain) = plain.as_ref().filter(|plain| plain.code != Some(0)) {
            self.failures.push(format!("{} {} {level}: run by itself: {plain:?}", program.name(), compiler.cc));
        }
        for &Turns { policy, quantum, seed } in turns {
            let trace = scratch.join("run.rwt");
            let mut command = scratch.reweave(["record", "--policy", policy, "--seed", &seed.to_string()]);
            if quantum > 0 {
                command.args(["--quantum", &quantum.to_string()]);
            }
            command.arg("-o").arg(&trace).arg("--").arg(&built);
            let done = run_with(&mut command, input, LIMIT);
            self.runs += 1;
            let label = format!("{} {} {level} {policy} {quantum} seed {seed}", program.name(), compiler.cc);
            let mut fail = |why: String| self.failures.push(format!("{label}: {why}\n    {}", done.stderr.trim()));
            let Some(code) = done.code else {
                fail("did not end".into());
                continue;
            };
            let mut ending = Ending::Status(code);
            for path in traces::all(&trace) {
                let checked = match Checked::open(&path) {
                    Ok(checked) => checked,
                    Err(why) => {
                        fail(why);
                        continue;
                    }
                };
                if checked.outcome() == Outcome::Hung {
                    ending = Ending::Hang;
                }
                let complaints = checked.complaints();
                if !complaints.is_empty() {
                    fail(complaints[..complaints.len().min(3)].join("; "));
                }
                match checked.sampled() {
                    Ok(totals) if totals.lost_pairs > 0 => {
                        fail(format!("sampling lost {} of {} pairs", totals.lost_pairs, totals.checked_pairs));
                    }
                    Ok(totals) => self.sampled.add(&totals),
                    Err(why) => fail(why),
                }
                self.events += checked.report.events;
                self.inconsistencies += checked.report.inconsistency_count;
                let name = program.name();
                let known = compiler != GCC && ESCAPED_LOCAL.contains(&name.as_str());
                let list = if known { &mut self.known } else { &mut self.unexplained };
                list.extend(
                    checked.unexplained().into_iter().map(|(count, place)| (count, format!("{label}: {place}"))),
                );
            }
            let mut fail = |why: String| self.failures.push(format!("{label}: {why}\n    {}", done.stderr.trim()));
            if !allowed(program).contains(&ending) {
                fail(format!("ended with {ending:?}"));
            }
            if let Some(plain) = plain.as_ref().filter(|plain| plain.last_line() != done.last_line()) {
                fail(format!("said {:?} in place of {:?}", done.last_line(), plain.last_line()));
            }
        }
    }

    fn conclude(mut self, folder: &str) {
        let unexplained: u64 = self.unexplained.iter().map(|(count, _)| count).sum();
        // Read by `cargo xtask soak`.
        println!(
            "golden {folder}: {} runs, {} events, {} inconsistencies, {unexplained} unexplained reads, {} failures",
            self.runs,
            self.events,
            self.inconsistencies,
            self.failures.len()
        );
        let sampled = &self.sampled;
        println!(
            "sampling {folder}: {} pairs, {} lost; of {} events {} left out for a weaker one, {} by chance",
            sampled.checked_pairs, sampled.lost_pairs, sampled.events, sampled.skipped.weaker, sampled.skipped.sampled
        );
        self.unexplained.sort_unstable_by(|one, two| two.cmp(one));
        for (count, place) in self.unexplained.iter().take(20) {
            println!("  unexplained {count} × {place}");
        }
        for (count, place) in &self.known {
            println!("  known limit {count} × {place}");
        }
        assert_eq!(unexplained, 0, "reads that no recorded write explains, see above");
        assert!(self.failures.is_empty(), "{} failures\n{}", self.failures.len(), self.failures.join("\n"));
    }
}

/// How a program may end. What a bug can do to it goes without saying in the header: a deadlock stands still.
fn allowed(program: &Program) -> Vec<Ending> {
    let mut allowed = program.exit.clone();
    if program.kind == "deadlock" {
        allowed.push(Ending::Hang);
    }
    allowed
}

fn golden(folder: &str) {
    let soak: Option<u64> = std::env::var("REWEAVE_SOAK").ok().map(|runs| runs.parse().expect("a number of runs"));
    let compilers = compilers();
    let mut totals = Totals::default();
    for (index, program) in programs(folder).iter().enumerate() {
        match soak {
            Some(runs) => {
                let turns: Vec<Turns> = (0..runs).map(Turns::nth).collect();
                for &compiler in &compilers {
                    for level in ["-O0", "-O2"] {
                        totals.try_out(program, compiler, level, &turns);
                    }
                }
            }
            None => {
                // Neighbours (`_bad` beside `_ok`) get different schedules, every other pair another compiler.
                let index = index as u64;
                let compiler = compilers[(index / 2) as usize % compilers.len()];
                let level = ["-O0", "-O2", "-O1"][(index / 2) as usize % 3];
                totals.try_out(program, compiler, level, &[Turns::nth(index), Turns::nth(index + 1)]);
            }
        }
    }
    totals.conclude(folder);
}

macro_rules! folders {
    ($($folder:ident)*) => {
        $(#[test]
        fn $folder() {
            golden(stringify!($folder));
        })*

        const FOLDERS: &[&str] = &[$(stringify!($folder)),*];
    };
}

folders! {
    annotations atomicity atomics barrier c11 cond cxx heap io libc memory mutex patterns process replay rwlock semaphore signal
    spin stack thread time
}

#[test]
fn no_folder_is_left_out() {
    assert_eq!(folders(), FOLDERS);
}
