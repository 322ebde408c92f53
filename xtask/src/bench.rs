//! `cargo xtask bench`: what recording costs, as ratios measured in one run.
//!
//! Each kernel in `benches/programs` runs plain, under libtsan (gcc's own `-fsanitize=thread`), recorded and watched, in
//! turn, and the median of each counts: absolute times mean nothing on shared machines. CPU time includes the process
//! that writes the trace, or analyses. Not a test: nothing here fails because a number is high. `REWEAVE_BENCH` names
//! another `reweave` to measure, of an earlier commit, say.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A kernel, its size for one measurement, and a size twice as long for the growth of memory.
struct Kernel {
    name: &'static str,
    size: &'static str,
    longer: &'static str,
    kind: &'static str,
}

const KERNELS: [Kernel; 8] = [
    Kernel { name: "matmul", size: "240", longer: "300", kind: "compute" },
    Kernel { name: "matmul", size: "480", longer: "560", kind: "compute" },
    Kernel { name: "lu", size: "260", longer: "330", kind: "compute" },
    Kernel { name: "fft", size: "65536", longer: "131072", kind: "compute" },
    Kernel { name: "calls", size: "200", longer: "400", kind: "small functions" },
    Kernel { name: "chaos", size: "500000", longer: "1000000", kind: "nothing repeats" },
    Kernel { name: "hashtable", size: "200000", longer: "400000", kind: "lock-heavy" },
    Kernel { name: "queue", size: "100000", longer: "200000", kind: "lock-heavy" },
];

const RUNS: usize = 5;

/// What one process and its children used.
#[derive(Clone, Copy)]
pub struct Cost {
    pub cpu: f64,
    pub wall: f64,
    pub memory_kib: i64,
}

pub fn run(root: &Path) -> io::Result<()> {
    let folder = root.join("target/bench");
    fs::create_dir_all(&folder)?;
    let reweave = std::env::var_os("REWEAVE_BENCH").map_or_else(|| root.join("target/release/reweave"), PathBuf::from);
    println!("median of {RUNS} runs; ratios of CPU time (wall time in brackets)\n");
    println!(
        "| kernel | kind | libtsan ÷ plain | recorded ÷ plain | recorded ÷ libtsan | watched ÷ libtsan | bytes/event | recorder's memory, run and longer run |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for kernel in &KERNELS {
        let source = root.join("benches/programs").join(format!("{}.c", kernel.name));
        let plain = build(Command::new("gcc"), &source, &folder, "plain", &[])?;
        let tsan = build(Command::new("gcc"), &source, &folder, "tsan", &["-fsanitize=thread"])?;
        let mut wrapper = Command::new(&reweave);
        wrapper.arg("cc");
        let instrumented = build(wrapper, &source, &folder, "reweave", &[])?;
        let trace = folder.join(format!("{}.rwt", kernel.name));
        let recorded = |size: &str| {
            let mut command = Command::new(&reweave);
            command.args(["record", "--max-trace", "20G", "-o"]).arg(&trace).arg("--").arg(&instrumented).arg(size);
            command
        };
        let direct = |program: &Path| {
            let mut command = Command::new(program);
            command.arg(kernel.size);
            command
        };
        let watched = || {
            let mut command = Command::new(&reweave);
            command.args(["watch", "--"]).arg(&instrumented).arg(kernel.size);
            command
        };
        let mut costs = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            costs[0].push(measure(direct(&plain))?);
            costs[1].push(measure(direct(&tsan))?);
            costs[2].push(measure(recorded(kernel.size))?);
            costs[3].push(measure(watched())?);
        }
        let bytes = bytes_per_event(&reweave, &trace)?;
        let longer = measure(recorded(kernel.longer))?;
        let [plain, tsan, ours, watched] = costs.map(median);
        println!(
            "| {} {} | {} | {} | {} | {} | {} | {bytes:.2} | {} and {} MiB |",
            kernel.name,
            kernel.size,
            kernel.kind,
            ratio(tsan, plain),
            ratio(ours, plain),
            ratio(ours, tsan),
            ratio(watched, tsan),
            ours.memory_kib / 1024,
            longer.memory_kib / 1024,
        );
    }
    Ok(())
}

/// Builds a program of `benches/programs` and records it.
fn record(root: &Path, name: &str, trace: &str, options: &[&str], arguments: &[&str]) -> io::Result<PathBuf> {
    let folder = root.join("target/bench");
    fs::create_dir_all(&folder)?;
    let reweave = root.join("target/release/reweave");
    let mut wrapper = Command::new(&reweave);
    wrapper.arg("cc");
    let source = root.join("benches/programs").join(format!("{name}.c"));
    let program = build(wrapper, &source, &folder, "reweave", &[])?;
    let trace = folder.join(trace);
    let mut record = Command::new(&reweave);
    record.arg("record").args(options).arg("-o").arg(&trace).arg("--").arg(program).args(arguments);
    measure(record)?;
    Ok(trace)
}

/// Traces of the kernels, small enough for valgrind.
pub fn record_small(root: &Path) -> io::Result<Vec<PathBuf>> {
    let kernels = [("matmul", "100"), ("lu", "100"), ("hashtable", "20000"), ("queue", "20000")];
    kernels.iter().map(|(name, size)| record(root, name, &format!("{name}-small.rwt"), &[], &[size])).collect()
}

/// Records the program whose reads are looked at, at the size of the largest trace of the paper (20,640 events, 480,000
/// possible witnesses).
pub fn record_stores(root: &Path) -> io::Result<PathBuf> {
    record(root, "stores", "stores.rwt", &["--quantum", "60"], &STORES)
}

/// Threads, shelves, rounds, and how many of a thousand set or look at a price.
const STORES: [&str; 4] = ["5", "44", "508", "0"];

fn build(mut compiler: Command, source: &Path, folder: &Path, suffix: &str, flags: &[&str]) -> io::Result<PathBuf> {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let program = folder.join(format!("{stem}.{suffix}"));
    let status =
        compiler.args(["-O2", "-g", "-pthread"]).args(flags).arg(source).arg("-o").arg(&program).arg("-lm").status()?;
    if !status.success() {
        return Err(io::Error::other(format!("{} does not build ({suffix})", source.display())));
    }
    Ok(program)
}

/// Runs a command in a process group of its own and adds up what it and its children used.
pub fn measure(command: Command) -> io::Result<Cost> {
    let told = format!("{command:?}");
    match cost(command)? {
        (cost, 0) => Ok(cost),
        (_, status) => Err(io::Error::other(format!("{told} ended with status {status}"))),
    }
}

/// What a command used, and its exit status; the number of the signal and 128 if one ended it.
pub fn cost(mut command: Command) -> io::Result<(Cost, i32)> {
    let start = Instant::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
    // SAFETY: wait4 fills both; the child is ours and not waited for elsewhere.
    let (status, usage) = unsafe {
        let (mut status, mut usage): (i32, libc::rusage) = (0, std::mem::zeroed());
        libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage);
        (status, usage)
    };
    let wall = start.elapsed().as_secs_f64();
    let status = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    Ok((Cost { cpu, wall, memory_kib: usage.ru_maxrss }, status))
}

pub fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    costs[costs.len() / 2]
}

pub fn ratio(a: Cost, b: Cost) -> String {
    format!("{:.2} ({:.2})", a.cpu / b.cpu.max(1e-3), a.wall / b.wall.max(1e-3))
}

/// Size of the trace over the number of its events, which `inspect` counts.
pub fn bytes_per_event(reweave: &Path, trace: &Path) -> io::Result<f64> {
    let output = Command::new(reweave).arg("inspect").arg(trace).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let events =
        text.lines().find_map(|line| line.strip_prefix("events")?.split_whitespace().next()?.parse::<f64>().ok());
    Ok(fs::metadata(trace)?.len() as f64 / events.unwrap_or(f64::NAN))
}
