//! `reweave record`

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use reweave_launch::{ENV_IGNORE, MAX_TRACE, Options, Policy, QUANTUM, Run, exit};
use reweave_report::profile::Profile;
use reweave_spmd::host::Local;
use reweave_trace::Trace;

use crate::classes::{Classes, Tests};
use crate::front_ends::FRONT_ENDS;
use crate::output;
use crate::ranks::Looking;
use crate::size::parse_size;

/// Run a program and record what its threads do
///
/// The program's output, input and exit status stay its own. Every process of it that was built with `reweave cc` is
/// recorded: the first in TRACE, the others in TRACE.2, TRACE.3 and so on. Of many ranks (`mpirun`, `oshrun`) TRACE is
/// a folder with a log for each.
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
    #[command(flatten)]
    freedom: Freedom,
    /// Stop recording (not the program) a process after this many events, or a little later: it is looked at when a
    /// megabyte is full
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_events: Option<u64>,
    /// Afterwards, show which functions the events came from and what they cost, the most expensive first
    #[arg(long)]
    profile: bool,
    #[command(flatten)]
    leaving_out: LeavingOut,
    /// How a sample of the loads and stores of many ranks is taken: NL (none), I or IA (by statement), H.5 or HA.5 (by
    /// function and statement; any factor); with A, statements that touch nothing shared are off until more is shared
    #[arg(long, value_name = "STRATEGY")]
    sample: Option<Local>,
    #[command(flatten)]
    looking: Looking,
    /// The program and its arguments
    #[arg(required_unless_present = "junit", last = true, value_name = "PROG")]
    command: Vec<OsString>,
}

/// Whether threads take turns.
#[derive(clap::Args, Clone)]
pub struct Freedom {
    /// C and C++: let threads run in parallel between synchronizations, for programs that one thread at a time makes
    /// too slow. Accesses that race may be recorded in another order than they had, and a replay follows such a
    /// recording only as far as it can
    #[arg(long, conflicts_with_all = ["seed", "policy", "quantum"])]
    pub free: bool,
}

impl Freedom {
    /// Many ranks are never serialized.
    pub fn refused(&self) -> Option<i32> {
        self.free.then(|| {
            eprintln!("reweave: ranks run in parallel as they are: leave --free out");
            exit::USAGE
        })
    }
}

/// What is not looked at.
#[derive(clap::Args, Clone)]
pub struct LeavingOut {
    /// C and C++: leave out the memory accesses of this function and of what it calls (synchronization is recorded all
    /// the same): faster, but races there are not found, and a value that only it writes has no recorded origin
    #[arg(long, value_name = "FUNC", value_delimiter = ',')]
    ignore: Vec<String>,
}

impl LeavingOut {
    /// Kept in the trace with the environment, so replays leave out the same.
    pub fn apply(&self, options: &mut Options) {
        if self.ignore.is_empty() {
            return;
        }
        let names = self.ignore.join(",");
        eprintln!(
            "reweave: left out (--ignore): accesses of {} and of what is called there: races there are not found",
            self.ignore.join(", ")
        );
        options.env.push((ENV_IGNORE.to_owned(), names));
    }
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

/// Functions that a profile shows.
const SHOWN: usize = 25;

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
        if let Some(code) = args.freedom.refused() {
            return code;
        }
        return match args.looking.look(args.sample) {
            Ok(look) => crate::ranks::record(&args.command, &args.output, args.max_trace, &look),
            Err(why) => {
                eprintln!("reweave: {why}");
                exit::USAGE
            }
        };
    }
    if args.sample.is_some() {
        eprintln!("reweave: --sample is for programs of many ranks (mpirun, oshrun), and for `reweave watch`");
        return exit::USAGE;
    }
    if let Some(code) = args.looking.refused() {
        return code;
    }
    let mut options = Options::new(FRONT_ENDS, args.command, args.output);
    options.max_trace = args.max_trace;
    options.max_recorded = args.max_events.unwrap_or(u64::MAX);
    args.scheduling.apply(&mut options);
    args.leaving_out.apply(&mut options);
    options.free = args.freedom.free;
    args.classes.apply(&mut options);
    match reweave_launch::run(&options) {
        Ok(run) => {
            output::run_summary(&run);
            if args.profile {
                profile(&run);
            }
            exit::of_program(run.status)
        }
        Err(error) => output::fail(&error),
    }
}

/// Which functions the events of each process came from.
fn profile(run: &Run) {
    for process in &run.processes {
        let profile = Trace::open(&process.path).and_then(|trace| Profile::of(&trace));
        let written = match profile {
            Ok(profile) => profile.write(SHOWN, &mut io::stderr().lock()),
            Err(error) => {
                output::fail_trace(error);
                continue;
            }
        };
        // Nobody may be there to read it; the program's own status matters more.
        let _ = written;
    }
}
