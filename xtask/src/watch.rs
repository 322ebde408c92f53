//! `cargo xtask soak-watch`: does watching hold steady? `cargo xtask bench-watch`: what does each analysis cost?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Rows of the table of a soak.
const ROWS: u64 = 24;

/// Watches `benches/programs/service.c`, in which everything comes and goes, for about so many million events, and
/// prints the memory of both processes and the disk used meanwhile. Fails if any of them grows after the first quarter.
pub fn soak(root: &Path, millions: u64, sample: bool) -> io::Result<bool> {
    let folder = root.join("target/soak-watch");
    // Whatever is left in it at the end would be ours.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let reweave = root.join("target/release/reweave");
    let program = build(&reweave, &root.join("benches/programs/service.c"), &folder)?;
    let json = folder.join("findings.json");
    let watch = |rounds: u64| {
        let mut command = Command::new(&reweave);
        command.arg("watch").args(sample.then_some("--sample")).arg("--json").arg(&json).arg("--").arg(&program);
        command.arg(rounds.to_string()).current_dir(&folder).stdout(Stdio::null());
        command
    };
    let status = watch(10).stderr(Stdio::null()).status()?;
    let events = number(&json, "events")?;
    if !status.success() || events == 0 {
        return Err(io::Error::other(format!("the program ended with {status} after {events} events")));
    }
    let rounds = (millions * 1_000_000 * 10).div_ceil(events);
    println!("{rounds} rounds of {} events each\n", events / 10);
    println!("| seconds | reweave, KiB | program, KiB | disk, KiB |\n| --- | --- | --- | --- |");
    let began = Instant::now();
    let mut child = watch(rounds).stderr(fs::File::create(folder.join("said"))?).spawn()?;
    let mut samples: Vec<[u64; 3]> = Vec::new();
    let mut every = 1;
    while child.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(200));
        let tick = began.elapsed().as_secs();
        if tick < samples.len() as u64 {
            continue;
        }
        let target = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
        let target = target.split_whitespace().next().and_then(|pid| pid.parse().ok());
        let (Some(ours), Some(theirs)) = (resident(child.id()), target.and_then(resident)) else { continue };
        let row = [ours, theirs, disk(&folder) >> 10];
        if tick.is_multiple_of(every) {
            println!("| {tick} | {} | {} | {} |", row[0], row[1], row[2]);
        }
        while tick / every > ROWS {
            every *= 2;
        }
        samples.push(row);
    }
    let status = child.wait()?;
    let said = fs::read_to_string(folder.join("said"))?;
    println!("\n{}", said.lines().filter(|line| line.starts_with("reweave: ")).collect::<Vec<_>>().join("\n"));
    if !status.success() {
        return Err(io::Error::other(format!("the program ended with {status}")));
    }
    let quarter = samples.len().div_ceil(4);
    let most = |samples: &[[u64; 3]], which: usize| samples.iter().map(|row| row[which]).max().unwrap_or(0);
    let mut steady = samples.len() >= 8;
    // What our allocator keeps goes up and down by a few MiB; what the program and the disk need does not.
    for (which, (what, share, slack)) in
        [("reweave", 20, 8 << 10), ("program", u64::MAX, 1 << 10), ("disk", u64::MAX, 16)].into_iter().enumerate()
    {
        let (before, after) = (most(&samples[..quarter], which), most(&samples[quarter..], which));
        let grew = after > before + before / share + slack;
        println!(
            "{what}: at most {before} in the first quarter, {after} after it{}",
            if grew { ": GROWS" } else { "" }
        );
        steady &= !grew;
    }
    if samples.len() < 8 {
        println!("too short to tell: take more events");
    }
    Ok(steady)
}

/// Of a process, in KiB.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn disk(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum()
}

/// A number of the statistics in a report.
fn number(json: &Path, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(json)?;
    let value = text.lines().find_map(|line| line.trim().strip_prefix(&format!("\"{name}\": ")));
    Ok(value.and_then(|value| value.trim_end_matches(',').parse().ok()).unwrap_or(0))
}

fn build(reweave: &Path, source: &Path, folder: &Path) -> io::Result<PathBuf> {
    let program = folder.join(source.file_stem().unwrap_or_default());
    let mut compiler = Command::new(reweave);
    compiler.args(["cc", "-O2", "-g", "-pthread"]).arg(source).arg("-o").arg(&program).arg("-lm");
    if !compiler.status()?.success() {
        return Err(io::Error::other(format!("{} does not build", source.display())));
    }
    Ok(program)
}

/// A kernel of `benches/programs` and a size at which it makes about a million events.
const KERNELS: [(&str, &str, &str); 4] = [
    ("matmul", "70", "access-heavy"),
    ("lu", "110", "access-heavy"),
    ("hashtable", "40000", "lock-heavy"),
    ("queue", "40000", "lock-heavy"),
];

const SETS: [&str; 6] =
    ["reading", "none", "hb", "hb,lockset", "hb,lockset,lock-history", "hb,lockset,lock-history,goodlock"];

/// Instructions and time of the live analyses on recorded runs, apart from the programs and with them: the runtime
/// behaves under callgrind as always (the events are the same), so that what the program itself executes, hooks
/// included, is counted too.
pub fn bench(root: &Path) -> io::Result<()> {
    let folder = root.join("target/bench-watch");
    fs::create_dir_all(&folder)?;
    let reweave = root.join("target/release/reweave");
    let example = root.join("target/release/examples/watch");
    let (counter, count): (&str, Counter) = match instructions_by_perf(Command::new("true")) {
        Some(_) => ("perf stat -e instructions:u", instructions_by_perf),
        None => ("callgrind", instructions_by_callgrind),
    };
    println!(
        "instructions per event by {counter}, reading the recorded trace taken off; the program's own, with the runtime, by"
    );
    println!("callgrind, starting it taken off; speed by the clock, once\n");
    println!(
        "| kernel | kind | analyses | instructions/event | over hb,lockset | with the program | over hb,lockset | million events/s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, size, kind) in KERNELS {
        let program = build(&reweave, &root.join(format!("benches/programs/{name}.c")), &folder)?;
        let trace = folder.join(format!("{name}.rwt"));
        let mut record = Command::new(&reweave);
        record.args(["record", "-o"]).arg(&trace).arg("--").arg(&program).arg(size);
        if !record.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
            return Err(io::Error::other(format!("{name} cannot be recorded")));
        }
        let (mut reading, mut base) = (0.0, 0.0);
        let recorded = |size: &str| {
            let mut command = Command::new(&reweave);
            command.args(["record", "-o"]).arg(folder.join("counted.rwt")).arg("--");
            command.args(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&program).arg(size);
            collected(command)
        };
        let own = match (recorded(size), recorded("2")) {
            (Some(whole), Some(start)) => whole.saturating_sub(start) as f64,
            _ => f64::NAN,
        };
        for set in SETS {
            let run = |set: &str, more: Option<&str>| {
                let mut command = Command::new(&example);
                command.arg(&trace).arg(set).args(more);
                command
            };
            let output = run(set, None).output()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut words = text.split_whitespace();
            let events = words.next().and_then(|word| word.parse::<f64>().ok());
            let seconds = words.nth(1).and_then(|word| word.parse::<f64>().ok());
            let (Some(events), Some(seconds)) = (events, seconds) else {
                println!("| {name} | {kind} | {set} | not in this build | | | | |");
                continue;
            };
            let per_event = |command| count(command).map_or(f64::NAN, |instructions| instructions as f64 / events);
            let all = per_event(run(set, None));
            match set {
                "reading" => {
                    reading = all;
                    continue;
                }
                "hb,lockset" => base = all - reading,
                _ => {}
            }
            let program = own / events;
            let columns = |analyser: f64| {
                let over = |with: f64| match base > 0.0 {
                    true => format!("{:+.1} %", 100.0 * ((analyser + with) / (base + with) - 1.0)),
                    false => String::new(),
                };
                format!("{analyser:.1} | {} | {:.1} | {}", over(0.0), analyser + program, over(program))
            };
            let speed = events / seconds.max(1e-9) / 1e6;
            println!("| {name} | {kind} | {set} | {} | {speed:.1} |", columns(all - reading));
            if set == "hb,lockset" {
                let sampled = per_event(run(set, Some("--sample"))) - reading;
                println!("| {name} | {kind} | {set} --sample | {} | |", columns(sampled));
            }
        }
    }
    Ok(())
}

type Counter = fn(Command) -> Option<u64>;

/// The command again, with these words before it.
fn wrapped(command: &Command, words: &[&str]) -> Command {
    let mut outer = Command::new(words[0]);
    outer.args(&words[1..]).arg(command.get_program()).args(command.get_args());
    outer
}

fn instructions_by_perf(command: Command) -> Option<u64> {
    let output = wrapped(&command, &["perf", "stat", "-x,", "-e", "instructions:u"]).output().ok()?;
    String::from_utf8_lossy(&output.stderr).lines().find_map(|line| line.split(',').next()?.parse().ok())
}

fn instructions_by_callgrind(command: Command) -> Option<u64> {
    let words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    collected(wrapped(&command, &words))
}

/// What callgrind says it has counted.
fn collected(mut command: Command) -> Option<u64> {
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().find_map(|line| line.split("Collected : ").nth(1)?.trim().parse().ok())
}
