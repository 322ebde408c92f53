//! What lock histories cost beside happens-before and locksets, in instructions:
//! `cargo run --release -p reweave-predict --example lock_history_cost -- TRACE…` (needs valgrind). `cargo xtask bench
//! lock-history` records kernels for it.
//!
//! Each trace is gone through twice under callgrind, with `hb` and `lockset` and with `hb` and `lock-history` (which
//! has `lockset` inside), both reading included. Then `hb` alone is timed. Not a test: nothing here fails because a
//! number is high.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use reweave_predict::analyses::{hb, lock_history, lockset};
use reweave_predict::linear::{Linear, run};
use reweave_predict::lock_history::HistoryLimits;
use reweave_trace::{Result, Trace};

/// A set of analyses by name.
fn analyses(name: &str) -> Vec<Box<dyn Linear>> {
    let hb = || Box::<hb::HbRaces>::default();
    match name {
        "hb" => vec![hb()],
        "lockset" => vec![hb(), Box::<lockset::LocksetRaces>::default()],
        "live" => vec![hb(), Box::new(lock_history::LockHistoryRaces::new(HistoryLimits::LIVE))],
        _ => vec![hb(), Box::<lock_history::LockHistoryRaces>::default()],
    }
}

/// Goes through a trace once. Returns events and pairs, of the last analysis.
fn pass(name: &str, path: &Path) -> Result<(u64, usize)> {
    let (mut analyses, trace) = (analyses(name), Trace::open(path)?);
    let events = run(&trace, &mut analyses, &mut |_| true)?;
    Ok((events, analyses.last_mut().map_or(0, |last| last.finish().pairs.len())))
}

/// How many instructions that takes; `None` without valgrind.
fn instructions(name: &str, path: &Path) -> Option<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(std::env::current_exe().ok()?);
    let output = command.args(["one", name]).arg(path).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find_map(|line| Some(line.split_once("Collected :")?.1.trim().to_owned()))?;
    line.split_whitespace().next()?.parse().ok()
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [one, name, path] = args.as_slice()
        && one == "one"
    {
        return pass(name, Path::new(path)).map(|_| ());
    }
    println!(
        "| trace | events | pairs: lockset | lock-history | hb, M events/s here | instructions/event: hb + lockset | + lock-history | + lock-history, live |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for path in args.iter().map(Path::new) {
        let start = Instant::now();
        let (events, _) = pass("hb", path)?;
        let speed = events as f64 / start.elapsed().as_secs_f64() / 1e6;
        let pairs = (pass("lockset", path)?.1, pass("lock-history", path)?.1);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let counts = ["lockset", "lock-history", "live"].map(|name| instructions(name, path));
        let [Some(base), Some(whole), Some(live)] = counts else {
            println!(
                "| {name} | {events} | {} | {} | {speed:.1} | valgrind gives no count: is it installed? |",
                pairs.0, pairs.1
            );
            continue;
        };
        let per_event = base as f64 / events as f64;
        let more = |count: u64| (count as f64 / base as f64 - 1.0) * 100.0;
        let (whole, live) = (more(whole), more(live));
        println!(
            "| {name} | {events} | {} | {} | {speed:.1} | {per_event:.0} | {whole:+.2} % | {live:+.2} % |",
            pairs.0, pairs.1
        );
    }
    Ok(())
}
