//! `reweave record`

use std::ffi::OsString;
use std::path::PathBuf;

use reweave_launch::{MAX_TRACE, Options, Policy, QUANTUM, exit};

use crate::classes::{Classes, Tests};
use crate::front_ends::FRONT_ENDS;
use crate::output;
use crate::size::parse_size;

/// Run a program and record what its threads do
///
/// The program's output, input and exit status stay its own. Every process of it that was built with `reweave cc` is
/// recorded: the first in TRACE, the others in TRACE.2, TRACE.3 and so on. Of many ranks (`mpirun`, `oshrun`) TRACE is
/// a
/// folder with a log for each.
#[derive(clap::Args)]
#[command(
    override_usage = "reweave record [OPTIONS] -- PROG [ARGS]...",
    after_help = "Examples:\n  \
        reweave record -- ./bank\n  \
        reweave record -o run7.rwt --seed 7 -- ./server --port 8000\n  \
        reweave record -- make check           every instrumented program it starts\n  \
        reweave record -o ranks -- mpirun -n 4 ./halo"
)]
pub struct Args {
    /// Where the trace goes
    #[arg(short, long, value_name = "TRACE", default_value = "reweave.rwt")]
    output: PathBuf,
    #[command(flatten)]
    scheduling: Scheduling,
    #[command(flatten)]
    classes: Classes,
    #[command(flatten)]
    tests: Tests,
    /// Stop recording (not the program) when a trace is this large
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "2G")]
    max_trace: u64,
    /// The program and its arguments
    #[arg(required_unless_present = "junit", last = true, value_name = "PROG")]
    command: Vec<OsString>,
}

/// How threads take turns.
#[derive(clap::Args, Clone)]
pub struct Scheduling {
    /// Seed of the schedule: the same seed gives the same schedule
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// How threads take turns: in long slices, at random before every synchronization, or by random priorities
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = PolicyName::Quantum)]
    pub policy: PolicyName,
    /// Steps of a slice (policy quantum)
    #[arg(long, value_name = "STEPS", default_value_t = QUANTUM)]
    pub quantum: u32,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
pub enum PolicyName {
    Quantum,
    Random,
    Pct,
}

impl Scheduling {
    pub fn apply(&self, options: &mut Options) {
        options.seed = self.seed;
        options.quantum = self.quantum;
        options.policy = match self.policy {
            PolicyName::Quantum => Policy::Quantum,
            PolicyName::Random => Policy::Random,
            PolicyName::Pct => Policy::Pct { depth: 3, length: 100_000 },
        };
    }
}

pub fn run(mut args: Args) -> i32 {
    args.command = match args.tests.command(args.command) {
        Ok(command) => command,
        Err(code) => return code,
    };
    debug_assert_eq!(MAX_TRACE, 2 << 30, "the default of --max-trace");
    let cwd = std::env::current_dir().unwrap_or_default();
    if reweave_spmd::host::is_spmd(&args.command, &cwd) {
        return crate::ranks::record(&args.command, &args.output, args.max_trace);
    }
    let mut options = Options::new(FRONT_ENDS, args.command, args.output);
    options.max_trace = args.max_trace;
    args.scheduling.apply(&mut options);
    args.classes.apply(&mut options);
    match reweave_launch::run(&options) {
        Ok(run) => {
            output::run_summary(&run);
            exit::of_program(run.status)
        }
        Err(error) => output::fail(&error),
    }
}
