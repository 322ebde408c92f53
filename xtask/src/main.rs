//! Chores: `cargo xtask test` is what `.ci/run` calls.

mod bench;
mod samples;
mod soak;
mod tools;
mod watch;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask COMMAND

  test [ARGS…]   install the tools the tests use (if allowed), then run all tests; ARGS go to `cargo test`
  soak [N]       every golden program, both compilers, -O0 and -O2, N schedules each (default 5)
  soak-replay [N]
                 every replay program, N schedules each (default 20)
  survey [REPLAYS] [TEXT]
                 every golden program (whose name has TEXT) through `reweave test`; each confirmed finding is replayed so
                 often (default 100)
  active [N]     active testing alone: how likely N runs (default 20) show the deadlocks of the golden programs, with and
                 without yielding, context and abstractions
  oracle [SMALL] [LARGE]
                 the engine against the oracle on so many random histories of up to 16 events (default 100000)
                 and of up to 24 (default 10000)
  lock-history [N]
                 lock histories against the oracle on N random histories of each of four kinds (default 100000)
  oracle-blocks [SMALL] [LARGE]
                 predicted atomicity violations against the oracle on so many random histories of up to 12 events
                 (default 100000) and of up to 16 (default 500)
  oracle-deadlocks [SMALL] [LARGE]
                 deadlocks and stalls against the oracle, likewise (default 100000 and 2000)
  enumerate      all schedules of the programs in tests/explore against exploration (takes a quarter of an hour)
  bench          what recording costs against plain and libtsan, as ratios
  bench-predict  how fast the analyses are: streaming ones on 10 M events, the engine per question (REWEAVE_Z3: against Z3)
  bench-lock-history [TRACE…]
                 instructions that lock histories cost beside hb and lockset (needs valgrind); by default on the kernels
  bench-reads    nondeterministic reads by both rules on a recorded trace of 20,000 events
  soak-watch [MILLIONS] [--sample]
                 watches a program in which everything comes and goes for so many million events (default 500) and prints
                 the memory and disk used meanwhile; fails if they grow
  bench-watch    what each live analysis costs, in instructions per event
  report-samples make the sample reports anew that the tests of the report's forms read (tests/reports)
  lint           rustfmt and clippy, as the rules of the repository want them
  demo           build in release mode and run `reweave demo`
";

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let command = args.next();
    let rest: Vec<String> = args.collect();
    let done = match command.as_deref() {
        Some("test") => test(&rest),
        Some("soak") => soak::golden(rest.first().map_or("5", String::as_str)),
        Some("soak-replay") => soak::replay(rest.first().map_or("20", String::as_str)),
        Some("survey") => {
            soak::survey(rest.first().map_or("100", String::as_str), rest.get(1).map_or("", String::as_str))
        }
        Some("active") => soak::active(rest.first().map_or("20", String::as_str)),
        Some("oracle") => {
            soak::oracle(rest.first().map_or("100000", String::as_str), rest.get(1).map_or("10000", String::as_str))
        }
        Some("lock-history") => soak::lock_history(rest.first().map_or("100000", String::as_str)),
        Some("oracle-blocks") => soak::oracle_blocks(
            rest.first().map_or("100000", String::as_str),
            rest.get(1).map_or("500", String::as_str),
        ),
        Some("oracle-deadlocks") => soak::oracle_deadlocks(
            rest.first().map_or("100000", String::as_str),
            rest.get(1).map_or("2000", String::as_str),
        ),
        Some("enumerate") => soak::enumerate(),
        Some("bench") => bench(),
        Some("bench-lock-history") => bench_lock_history(&rest),
        Some("bench-predict") => bench_predict(),
        Some("bench-reads") => bench_reads(),
        Some("soak-watch") => soak_watch(&rest),
        Some("bench-watch") => bench_watch(),
        Some("report-samples") => samples::make(&root()),
        Some("lint") => lint(),
        Some("demo") => cargo(&["run", "--release", "--package", "reweave", "--", "demo"]),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn test(rest: &[String]) -> bool {
    tools::provide(&root());
    let mut arguments = vec!["test", "--workspace"];
    arguments.extend(rest.iter().map(String::as_str));
    let passed = cargo(&arguments);
    // Said again at the end, where it is seen.
    tools::tell_missing(&root());
    passed
}

fn bench() -> bool {
    if !cargo(&["build", "--release", "--package", "reweave"]) {
        return false;
    }
    told(bench::run(&root()).map(|()| true))
}

fn soak_watch(rest: &[String]) -> bool {
    let millions = rest.iter().find_map(|word| word.parse().ok()).unwrap_or(500);
    let sample = rest.iter().any(|word| word == "--sample");
    cargo(&["build", "--release", "--package", "reweave"]) && told(watch::soak(&root(), millions, sample))
}

fn bench_watch() -> bool {
    cargo(&["build", "--release", "--package", "reweave"])
        && cargo(&["build", "--release", "--package", "reweave-predict", "--example", "watch"])
        && told(watch::bench(&root()).map(|()| true))
}

fn told(done: std::io::Result<bool>) -> bool {
    done.unwrap_or_else(|error| {
        eprintln!("xtask: {error}");
        false
    })
}

fn bench_predict() -> bool {
    let example = |name, arguments: &[&str]| {
        let mut all = vec!["run", "--release", "--package", "reweave-predict", "--example", name, "--"];
        all.extend(arguments);
        cargo(&all)
    };
    let formulas = root().join("target/bench/formulas");
    let formulas = formulas.to_string_lossy();
    example("speed", &["10000000", "hb", "hb-std", "shb", "lockset", "wcp"])
        && example("speed", &["10000000", "blocks", "serializability", "lock-reacquire", "reduction"])
        && example("speed", &["1000000", "syncp", "cp"])
        && example("speed", &["10000000", "nested", "goodlock", "sync-preserving-deadlock", "misuse"])
        && example("questions", &["10000", "10000", &formulas])
        && example("questions", &["100000", "100000"])
}

fn bench_lock_history(traces: &[String]) -> bool {
    let mut traces: Vec<PathBuf> = traces.iter().map(PathBuf::from).collect();
    if traces.is_empty() {
        if !cargo(&["build", "--release", "--package", "reweave"]) {
            return false;
        }
        match bench::record_small(&root()) {
            Ok(recorded) => traces = recorded,
            Err(error) => {
                eprintln!("xtask: {error}");
                return false;
            }
        }
    }
    let mut arguments =
        vec!["run", "--release", "--package", "reweave-predict", "--example", "lock_history_cost", "--"];
    let traces: Vec<_> = traces.iter().map(|trace| trace.to_string_lossy()).collect();
    arguments.extend(traces.iter().map(AsRef::as_ref));
    cargo(&arguments)
}

fn bench_reads() -> bool {
    if !cargo(&["build", "--release", "--package", "reweave"]) {
        return false;
    }
    match bench::record_stores(&root()) {
        Ok(trace) => {
            let trace = trace.to_string_lossy();
            cargo(&["run", "--release", "--package", "reweave-predict", "--example", "nondeterminism", "--", &trace])
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            false
        }
    }
}

fn lint() -> bool {
    let formatted = cargo(&["fmt", "--all", "--check"]);
    let clean = cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    // The runtime is the same package under another cfg: its own target folder keeps the two apart.
    let runtime = cargo_with(
        &[
            "clippy",
            "--package",
            "reweave-native",
            "--lib",
            "--target-dir",
            "target/runtime-lint",
            "--",
            "-D",
            "warnings",
        ],
        &[("RUSTFLAGS", "--cfg reweave_runtime"), ("REWEAVE_BUILDING_RUNTIME", "1")],
    );
    formatted && clean && runtime
}

fn cargo(arguments: &[&str]) -> bool {
    cargo_with(arguments, &[])
}

fn cargo_with(arguments: &[&str], variables: &[(&str, &str)]) -> bool {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    let status = command.args(arguments).envs(variables.iter().copied()).current_dir(root()).status();
    match status {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("xtask: cannot run cargo: {error}");
            false
        }
    }
}

fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}
