//! `cargo xtask bench predict`: what `reweave predict` costs from end to end, text in and report out, as somebody who
//! runs it sees it; with `--peer` beside RAPID, whose class path `REWEAVE_RAPID` names. Not a test: nothing here fails
//! because a number is high.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{self, Cost};

/// A random trace: threads, locks and variables, each of which belongs to a lock that some accesses forget.
struct Shape {
    name: &'static str,
    events: u64,
    /// Of a million accesses outside of locks, those that touch what others use.
    forgotten: u64,
}

const THREADS: usize = 10;
const LOCKS: usize = 10;
const VARIABLES: u64 = 1000;

const PEER_TRACES: [Shape; 3] = [
    Shape { name: "1 M, few races", events: 1_000_000, forgotten: 1_000 },
    Shape { name: "1 M, many races", events: 1_000_000, forgotten: 50_000 },
    Shape { name: "10 M, few races", events: 10_000_000, forgotten: 100 },
];

const GROWTH: [Shape; 3] = [
    Shape { name: "0.1 M", events: 100_000, forgotten: 1_000 },
    Shape { name: "1 M", events: 1_000_000, forgotten: 1_000 },
    Shape { name: "10 M", events: 10_000_000, forgotten: 1_000 },
];

/// What we call it, further options, and RAPID's class that does the like.
const ANALYSES: [(&str, &[&str], &str); 5] = [
    ("hb", &[], "HBEpoch"),
    ("shb", &[], "SHBEpoch"),
    ("lockset", &[], "LockSet"),
    ("wcp", &[], "WCP"),
    // What the observed order shows, as AeroDrome does.
    ("serializability", &["--candidates"], "Aerodrome"),
];

/// Seconds after which a command is given up.
const PATIENCE: &str = "600";

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// Writes a trace that can have happened, as STD.
fn make(path: &Path, shape: &Shape) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut held: [Vec<usize>; THREADS] = Default::default();
    let mut taken = [false; LOCKS];
    for child in 1..THREADS {
        writeln!(out, "T0|fork(T{child})|{child}")?;
    }
    let mut events = THREADS as u64;
    while events < shape.events {
        let thread = random.below(THREADS as u64) as usize;
        let (own, what) = (&mut held[thread], random.below(100));
        if what < 15 && own.len() < 3 {
            let lock = random.below(LOCKS as u64) as usize;
            if taken[lock] || own.last().is_some_and(|last| *last >= lock) {
                continue;
            }
            taken[lock] = true;
            own.push(lock);
            writeln!(out, "T{thread}|acq(L{lock})|{}", 100 + lock)?;
        } else if what < 30
            && let Some(lock) = own.pop()
        {
            taken[lock] = false;
            writeln!(out, "T{thread}|rel(L{lock})|{}", 200 + lock)?;
        } else {
            let (op, place) = (if random.below(10) < 3 { 'w' } else { 'r' }, random.below(50));
            let (per_lock, locks) = (VARIABLES / LOCKS as u64, LOCKS as u64);
            if !own.is_empty() {
                let lock = own[random.below(own.len() as u64) as usize] as u64;
                writeln!(out, "T{thread}|{op}(V{})|{}", lock + locks * random.below(per_lock), 1000 + place)?;
            } else if random.below(1_000_000) < shape.forgotten {
                writeln!(out, "T{thread}|{op}(V{})|{}", random.below(VARIABLES), 5000 + place)?;
            } else {
                writeln!(out, "T{thread}|{op}(P{thread}_{})|{}", random.below(20), 3000 + place)?;
            }
        }
        events += 1;
    }
    for (thread, own) in held.iter_mut().enumerate() {
        while let Some(lock) = own.pop() {
            writeln!(out, "T{thread}|rel(L{lock})|{}", 200 + lock)?;
        }
    }
    for child in 1..THREADS {
        writeln!(out, "T0|join(T{child})|{}", 900 + child)?;
    }
    out.flush()
}

/// A trace in the folder of the benchmarks.
fn trace(root: &Path, shape: &Shape) -> io::Result<PathBuf> {
    let folder = root.join("target/bench");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("random-{}-{}.std", shape.events, shape.forgotten));
    make(&path, shape)?;
    Ok(path)
}

/// `reweave predict`, ended after a while.
fn ours(root: &Path, trace: &Path, analysis: &str, more: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE).arg(root.join("target/release/reweave")).arg("predict").arg(trace).args(more);
    if !analysis.is_empty() {
        command.args(["--analysis", analysis]);
    }
    command
}

/// Runs `reweave`, which may find something.
fn cost(command: Command) -> io::Result<Option<Cost>> {
    let (cost, status) = bench::cost(command)?;
    // Nothing, or something, was found.
    Ok(matches!(status, 0 | 1).then_some(cost))
}

/// Runs RAPID, which ends with 0 whatever it finds.
fn cost_of_peer(command: Command) -> io::Result<Option<Cost>> {
    let (cost, status) = bench::cost(command)?;
    Ok((status == 0).then_some(cost))
}

fn shown(cost: Option<&Cost>) -> String {
    cost.map_or("no answer".to_owned(), |cost| format!("{:.2} s, {} MB", cost.wall, cost.memory_kib / 1024))
}

/// Whole commands at growing sizes.
pub fn growth(root: &Path) -> io::Result<bool> {
    println!("\nwhole commands (`reweave predict FILE.std`): wall time and peak memory\n");
    println!("| analysis | {} |", GROWTH.map(|shape| shape.name).join(" | "));
    println!("| --- | --- | --- | --- |");
    let traces = GROWTH.iter().map(|shape| trace(root, shape)).collect::<io::Result<Vec<PathBuf>>>()?;
    let named = ANALYSES.iter().map(|(name, more, _)| (*name, *more));
    for (name, more) in named.chain([("goodlock", &[][..]), ("misuse", &[][..]), ("", &[][..])]) {
        let mut row = Vec::new();
        for trace in &traces {
            row.push(shown(cost(ours(root, trace, name, more))?.as_ref()));
        }
        let name = if name.is_empty() { "(default set)".to_owned() } else { format!("{name} {}", more.join(" ")) };
        println!("| {} | {} |", name.trim(), row.join(" | "));
    }
    Ok(true)
}

/// Whole commands side by side with RAPID's.
pub fn peer(root: &Path) -> io::Result<bool> {
    let Some(classes) = env::var_os("REWEAVE_RAPID") else {
        eprintln!("xtask: REWEAVE_RAPID must name the class path of RAPID (its classes and its jars)");
        return Ok(false);
    };
    println!("| trace | analysis | reweave | RAPID | times faster |");
    println!("| --- | --- | --- | --- | --- |");
    for shape in &PEER_TRACES {
        let trace = trace(root, shape)?;
        for (name, more, class) in ANALYSES {
            let mut theirs = Command::new("timeout");
            theirs.args([PATIENCE, "java", "-cp"]).arg(&classes).args([class, "-f", "std", "-p"]).arg(&trace);
            // In turn, so that both see the same machine.
            let (one, other) = (cost(ours(root, &trace, name, more))?, cost_of_peer(theirs)?);
            let ratio = match (&one, &other) {
                (Some(one), Some(other)) => format!("{:.1}", other.wall / one.wall.max(1e-3)),
                _ => "–".to_owned(),
            };
            let name = format!("{name} {}", more.join(" "));
            let (one, other) = (shown(one.as_ref()), shown(other.as_ref()));
            println!("| {} | {} | {one} | {class}: {other} | {ratio} |", shape.name, name.trim());
        }
        let default = cost(ours(root, &trace, "", &[]))?;
        println!("| {} | (default set) | {} | | |", shape.name, shown(default.as_ref()));
    }
    Ok(true)
}
