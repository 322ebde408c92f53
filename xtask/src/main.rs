//! Chores: `cargo xtask test` is what `.ci/run` calls.

mod bench;
mod bench_java;
mod bench_ranks;
mod bench_statics;
mod classes;
mod samples;
mod soak;
mod tools;
mod watch;
mod whole;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Something to do, with a name within its group.
struct Chore {
    /// Empty for what stands by itself.
    group: &'static str,
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> bool,
}

const fn chore(
    group: &'static str,
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> bool,
) -> Chore {
    Chore { group, name, arguments, about, run }
}

/// The first chore of a group is what the group's name alone stands for.
const CHORES: &[Chore] = &[
    chore(
        "",
        "test",
        "[ARGS…]",
        "install the tools the tests use (if allowed), then rustfmt, clippy and all tests; \
           with ARGS, which go to `cargo test`, only these tests",
        test,
    ),
    chore("", "lint", "", "rustfmt and clippy, as the rules of the repository want them", |_| lint()),
    chore("", "demo", "", "build in release mode and run `reweave demo`", |_| {
        cargo(&["run", "--release", "--package", "reweave", "--", "demo"])
    }),
    chore(
        "",
        "report-samples",
        "",
        "make the sample reports anew that the tests of the report's forms read \
           (tests/reports)",
        |_| samples::make(&root()),
    ),
    chore(
        "soak",
        "golden",
        "[N]",
        "every golden program, both compilers, -O0 and -O2, N schedules each (default 5)",
        |rest| soak::golden(word(rest, 0, "5")),
    ),
    chore("soak", "replay", "[N]", "every replay program, N schedules each (default 20)", |rest| {
        soak::replay(word(rest, 0, "20"))
    }),
    chore(
        "soak",
        "watch",
        "[MILLIONS] [--sample]",
        "watches a program in which everything comes and goes for so many \
           million events (default 500) and prints the memory and disk used meanwhile; fails if they grow",
        soak_watch,
    ),
    chore(
        "oracle",
        "races",
        "[SMALL] [LARGE]",
        "the engine against the oracle, races and reads, on so many random \
           histories of up to 16 events (default 100000) and of up to 24 (default 10000)",
        |rest| soak::oracle(word(rest, 0, "100000"), word(rest, 1, "10000")),
    ),
    chore(
        "oracle",
        "deadlocks",
        "[SMALL] [LARGE]",
        "deadlocks and stalls against the oracle, likewise (default 100000 \
           and 2000)",
        |rest| soak::oracle_deadlocks(word(rest, 0, "100000"), word(rest, 1, "2000")),
    ),
    chore(
        "oracle",
        "blocks",
        "[SMALL] [LARGE]",
        "predicted atomicity violations against the oracle on so many random \
           histories of up to 12 events (default 100000) and of up to 16 (default 500)",
        |rest| soak::oracle_blocks(word(rest, 0, "100000"), word(rest, 1, "500")),
    ),
    chore(
        "oracle",
        "lock-history",
        "[N]",
        "lock histories against the oracle on N random histories of each of four \
           kinds (default 100000)",
        |rest| soak::lock_history(word(rest, 0, "100000")),
    ),
    chore(
        "oracle",
        "schedules",
        "",
        "all schedules of the programs in tests/explore against exploration (takes a \
           quarter of an hour)",
        |_| soak::enumerate(),
    ),
    chore(
        "oracle",
        "scripts",
        "[N] [SEED]",
        "N random scripts (default 2000), from that seed on, through `reweave test --explore` against all of their \
           schedules: failures, deadlocks, racy pairs, classes, and every finding replayed three times",
        |rest| soak::scripts(word(rest, 0, "2000"), word(rest, 1, "0")),
    ),
    chore(
        "oracle",
        "statics",
        "[N]",
        "the static analysis against all executions of N random programs (default 100000)",
        |rest| soak::statics(word(rest, 0, "100000")),
    ),
    chore(
        "oracle",
        "faults",
        "",
        "mistakes put into the static analysis on purpose: random programs show each of them",
        |_| soak::faults(),
    ),
    chore(
        "survey",
        "golden",
        "[REPLAYS] [TEXT]",
        "every golden program (whose name has TEXT) through `reweave test`; \
           each confirmed finding is replayed so often (default 100)",
        |rest| soak::survey(word(rest, 0, "100"), word(rest, 1, "")),
    ),
    chore(
        "survey",
        "active",
        "[N]",
        "active testing alone: how likely N runs (default 20) show the deadlocks of the \
           golden programs, with and without yielding, context and abstractions",
        |rest| soak::active(word(rest, 0, "20")),
    ),
    chore(
        "survey",
        "realistic",
        "",
        "ten small realistic programs: each is found by `reweave test`, not in its fixed twin, and `reweave verify` \
           tells them apart",
        |_| soak::realistic(),
    ),
    chore("survey", "readme", "", "the README from the top, from a fresh clone of what is committed", |_| {
        soak::readme()
    }),
    chore(
        "survey",
        "java",
        "[REPLAYS]",
        "every golden program in Java through `reweave test`; each confirmed finding is replayed this many times \
         (default 20)",
        |rest| soak::java(word(rest, 0, "20")),
    ),
    chore(
        "survey",
        "traces",
        "[N]",
        "programs in Java recorded N times (default 100) with one seed: is it one trace, compiled and interpreted?",
        |rest| soak::traces(word(rest, 0, "100")),
    ),
    chore(
        "survey",
        "classes",
        "[JAR…]",
        "every class of these jars (default: those that Debian installs) rewritten, loaded and verified",
        |rest| cargo(&["build", "--release", "--package", "reweave"]) && print_error(classes::run(&root(), rest)),
    ),
    chore(
        "survey",
        "spmd",
        "",
        "every golden program of many ranks through `reweave test`, on each MPI that is here",
        |_| soak::ranks(),
    ),
    chore("bench", "record", "", "what recording and watching cost against plain and libtsan, as ratios", |_| bench()),
    chore(
        "bench",
        "ranks",
        "",
        "what looking at programs of many ranks costs, and how the analysis grows to 4,096 virtual ranks",
        |_| bench_on_ranks(),
    ),
    chore(
        "bench",
        "determinism",
        "",
        "what the static analysis of Java programs costs, for five sizes (needs a JDK)",
        |_| bench_on_determinism(),
    ),
    chore("bench", "java", "", "what recording costs on a Java machine, as ratios (needs a JDK)", |_| bench_on_java()),
    chore(
        "bench",
        "predict",
        "[--peer | --whole]",
        "how fast the analyses are: streaming ones on 10 M events, the engine per question \
           (REWEAVE_Z3: against Z3), whole commands at 0.1, 1 and 10 M events (--whole: only these); --peer: whole \
           commands beside RAPID's (REWEAVE_RAPID: its class path)",
        bench_predict,
    ),
    chore(
        "bench",
        "lock-history",
        "[TRACE…]",
        "instructions that lock histories cost beside hb and lockset (needs \
           valgrind); by default on the kernels",
        bench_lock_history,
    ),
    chore("bench", "reads", "", "nondeterministic reads by both rules on a recorded trace of 20,000 events", |_| {
        bench_reads()
    }),
    chore("bench", "watch", "", "what each live analysis costs, in instructions per event", |_| bench_watch()),
];

fn word<'a>(rest: &'a [String], at: usize, default: &'a str) -> &'a str {
    rest.get(at).map_or(default, String::as_str)
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let Some((chore, rest)) = find(&words) else {
        eprint!("{}", usage());
        return ExitCode::from(2);
    };
    if (chore.run)(rest) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the words ask for, and what is left of them.
fn find(words: &[String]) -> Option<(&'static Chore, &[String])> {
    let (first, rest) = words.split_first()?;
    if let Some(chore) = CHORES.iter().find(|chore| chore.group.is_empty() && chore.name == first) {
        return Some((chore, rest));
    }
    let mut group = CHORES.iter().filter(|chore| !chore.group.is_empty() && chore.group == first);
    let named = rest.first().and_then(|name| group.clone().find(|chore| chore.name == name));
    let is_name = |word: &String| word.starts_with(|first: char| first.is_ascii_alphabetic());
    match named {
        Some(chore) => Some((chore, &rest[1..])),
        None if rest.first().is_some_and(is_name) => None,
        None => group.next().map(|chore| (chore, rest)),
    }
}

fn usage() -> String {
    let mut text = "usage: cargo xtask [GROUP] CHORE [ARGS…]    (a group alone: its first chore)\n".to_owned();
    let mut group = None;
    for chore in CHORES {
        if group != Some(chore.group) {
            group = Some(chore.group);
            text += if chore.group.is_empty() { "" } else { "\n\n" };
            text += chore.group;
        }
        text += format!("\n  {} {}", chore.name, chore.arguments).trim_end();
        text.push('\n');
        let mut line = String::new();
        for word in chore.about.split_whitespace() {
            if line.len() + word.len() > 90 {
                text += &format!("       {line}\n");
                line.clear();
            }
            line += if line.is_empty() { "" } else { " " };
            line += word;
        }
        text += &format!("       {line}");
    }
    text + "\n"
}

fn test(rest: &[String]) -> bool {
    let installing = tools::provide(&root());
    // What is checked fastest comes first.
    let clean = !rest.is_empty() || lint();
    installing.wait();
    if !clean {
        return false;
    }
    let mut arguments = vec!["test", "--workspace", "--no-fail-fast"];
    arguments.extend(rest.iter().map(String::as_str));
    let passed = cargo(&arguments);
    // Said again at the end, where it is seen.
    tools::print_missing(&root());
    passed
}

fn bench() -> bool {
    if !cargo(&["build", "--release", "--package", "reweave"]) {
        return false;
    }
    print_error(bench::run(&root()).map(|()| true))
}

fn bench_on_ranks() -> bool {
    let scale = ["run", "--release", "--package", "reweave-spmd", "--example", "scale"];
    cargo(&["build", "--release", "--package", "reweave"])
        && print_error(bench_ranks::run(&root()).map(|()| true))
        && cargo(&scale)
}

fn bench_on_determinism() -> bool {
    cargo(&["build", "--release", "--package", "reweave"])
        && cargo(&["build", "--release", "--package", "reweave-statics", "--example", "lower"])
        && print_error(bench_statics::run(&root()).map(|()| true))
}

fn bench_on_java() -> bool {
    cargo(&["build", "--release", "--package", "reweave"]) && print_error(bench_java::run(&root()).map(|()| true))
}

fn soak_watch(rest: &[String]) -> bool {
    let millions = rest.iter().find_map(|word| word.parse().ok()).unwrap_or(500);
    let sample = rest.iter().any(|word| word == "--sample");
    cargo(&["build", "--release", "--package", "reweave"]) && print_error(watch::soak(&root(), millions, sample))
}

fn bench_watch() -> bool {
    cargo(&["build", "--release", "--package", "reweave"])
        && cargo(&["build", "--release", "--package", "reweave-predict", "--example", "watch"])
        && print_error(watch::bench(&root()).map(|()| true))
}

fn print_error(done: std::io::Result<bool>) -> bool {
    done.unwrap_or_else(|error| {
        eprintln!("xtask: {error}");
        false
    })
}

fn bench_predict(rest: &[String]) -> bool {
    let build = || cargo(&["build", "--release", "--package", "reweave"]);
    match rest.first().map(String::as_str) {
        Some("--peer") => build() && print_error(whole::peer(&root())),
        Some("--whole") => build() && print_error(whole::growth(&root())),
        _ => bench_engines() && build() && print_error(whole::growth(&root())),
    }
}

fn bench_engines() -> bool {
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
    // A runtime is the same package under another cfg: its own target folder keeps the two apart.
    let lint_runtime = |package: &str| {
        cargo_with(
            &[
                "clippy",
                "--package",
                package,
                "--lib",
                "--no-default-features",
                "--target-dir",
                "target/runtime-lint",
                "--",
                "-D",
                "warnings",
            ],
            &[("RUSTFLAGS", "--cfg reweave_runtime"), ("REWEAVE_BUILDING_RUNTIME", "1")],
        )
    };
    let runtime = ["reweave-native", "reweave-jvm", "reweave-spmd"].into_iter().all(lint_runtime);
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
