//! How fast the streaming analyses are: `cargo run --release -p reweave-predict --example speed -- EVENTS [racy]
//! [nested] [blocks] [hb wcp…]`.
//!
//! Makes a random trace of 10 threads, 10 locks and 1,000 locations (60 % reads, short critical sections), as our file
//! and as STD text. Each location belongs to a lock and one access in a thousand forgets it; with `racy` locks protect
//! nothing; with `nested` every third section takes a second lock inside, once in a while against the usual order; with
//! `blocks` every critical section is an atomic block, and every tenth goes on over the next critical section of its
//! thread.
//!
//! Prints for reading alone and for each analysis the events per second that its busiest thread gets through (by
//! processor time: what a machine with two processors and nothing else to do reaches), and beside it what this machine
//! did. Where RAPID's authors publish a figure, how many times faster that is. Then the peak memory of each analysis in
//! a process of its own, on a tenth of the events and on all of them.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, ThreadId, Value};
use reweave_predict::ANALYSES;
use reweave_predict::analyses::hb;
use reweave_predict::linear::{Linear, run, run_beside};
use reweave_trace::{Meta, Result, Trace, TraceBuilder, open_beside, text};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// What the trace is like.
#[derive(Clone, Copy)]
struct Shape {
    racy: bool,
    nested: bool,
    blocks: bool,
}

fn make(path: &Path, events: u64, Shape { racy, nested, blocks }: Shape) -> Result<()> {
    let mut builder = TraceBuilder::create(path, &Meta::default())?;
    let mut random = Random(0x1234_5678_9abc_def1);
    let lock = |index: u64| ObjectId(0x7000_0000 + 64 * index);
    let pc = |kind: u64, index: u64| Pc(0x40_0000 + 16 * (kind * 1000 + index));
    builder.push(ThreadId(0), Pc(1), Op::Begin)?;
    for child in 1..10 {
        builder.push(ThreadId(0), Pc(2), Op::Fork { child: ThreadId(child), nth: child - 1 })?;
        builder.push(ThreadId(child), Pc(3), Op::Begin)?;
    }
    let mut holds: [Option<u64>; 10] = [None; 10];
    let mut inner: [Option<u64>; 10] = [None; 10];
    let mut taken = [false; 10];
    let mut left = [0u64; 10];
    let mut in_block = [false; 10];
    while builder.next_event().0 < events {
        let thread = random.below(10) as usize;
        let id = ThreadId(thread as u32);
        // A thread runs for a while before the next one does.
        for _ in 0..1 + random.below(8) {
            match holds[thread] {
                None if random.below(2) == 0 => {
                    let wanted = random.below(10);
                    if !taken[wanted as usize] {
                        if blocks && !std::mem::replace(&mut in_block[thread], true) {
                            builder.push(id, pc(4, wanted), Op::AtomicEnter { name: Addr(0) })?;
                        }
                        let op = Op::Acquire { object: lock(wanted), mode: LockMode::Exclusive, tried: false };
                        builder.push(id, pc(2, wanted), op)?;
                        taken[wanted as usize] = true;
                        (holds[thread], left[thread]) = (Some(wanted), 1 + random.below(6));
                        continue;
                    }
                }
                Some(held) if left[thread] == 0 => {
                    if let Some(second) = inner[thread].take() {
                        let op = Op::Release { object: lock(second), mode: LockMode::Exclusive };
                        builder.push(id, pc(5, second), op)?;
                        taken[second as usize] = false;
                    }
                    let op = Op::Release { object: lock(held), mode: LockMode::Exclusive };
                    builder.push(id, pc(3, held), op)?;
                    taken[held as usize] = false;
                    if in_block[thread] && random.below(10) != 0 {
                        in_block[thread] = false;
                        builder.push(id, pc(5, held), Op::AtomicExit)?;
                    }
                    holds[thread] = None;
                    continue;
                }
                Some(held) if nested && inner[thread].is_none() && random.below(6) == 0 => {
                    let wanted = random.below(10);
                    let usual = wanted > held || random.below(1000) == 0;
                    if usual && wanted != held && !taken[wanted as usize] {
                        let op = Op::Acquire { object: lock(wanted), mode: LockMode::Exclusive, tried: false };
                        builder.push(id, pc(4, wanted), op)?;
                        taken[wanted as usize] = true;
                        inner[thread] = Some(wanted);
                        continue;
                    }
                }
                _ => {}
            }
            left[thread] = left[thread].saturating_sub(1);
            let free = racy || random.below(1000) == 0;
            let location = match holds[thread] {
                Some(held) if !free => random.below(100) * 10 + held,
                // Outside of locks threads have locations of their own, after those that are shared.
                None if !free => 1000 + thread as u64 * 100 + random.below(100),
                _ => random.below(1000),
            };
            let (addr, size, value) = (Addr(0x10_0000 + 8 * location), 8, Value::Word(0));
            let flags = AccessFlags(0);
            if random.below(10) < 6 {
                builder.push(id, pc(0, location % 500), Op::Read { addr, size, value, flags })?;
            } else {
                builder.push(id, pc(1, location % 500), Op::Write { addr, size, value, flags })?;
            }
        }
    }
    builder.finish(reweave_trace::Footer::default(), None)?;
    Ok(())
}

/// A line of `/proc/self/status`, in KiB.
fn memory(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(what));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// Seconds on the processor so far, of this thread and of all others together, whatever else the machine does.
fn cpu_seconds() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let this = text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9;
    // User and system time, in hundredths: twelve and thirteen fields after the name.
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    (this, (ticks / 100.0 - this).max(0.0))
}

/// Events per second that RAPID reaches, by its authors' reference figures.
const RAPID: [(&str, f64); 3] = [("hb", 310e3), ("hb-std", 310e3), ("wcp", 61e3)];

/// The best of three runs: the others were disturbed.
fn report(what: &str, mut run: impl FnMut() -> Result<(u64, usize)>) -> Result<()> {
    let (mut best, mut wall, mut total, mut found) = ((f64::MAX, f64::MAX), f64::MAX, 0, 0);
    for _ in 0..3 {
        let (start, before) = (Instant::now(), cpu_seconds());
        (total, found) = run()?;
        let after = cpu_seconds();
        best = (best.0.min(after.0 - before.0), best.1.min(after.1 - before.1));
        wall = wall.min(start.elapsed().as_secs_f64());
        if wall > 2.0 {
            break;
        }
    }
    let (this, ahead) = best;
    let speed = total as f64 / this.max(ahead);
    print!("{what:24} {:8.2} M events/s (here {:6.2})", speed / 1e6, total as f64 / wall / 1e6);
    print!(" {this:7.3} s cpu and {ahead:5.2} s ahead {found:6} found");
    match RAPID.iter().find(|(name, _)| *name == what) {
        Some((_, rapid)) => println!("  {:4.0} x RAPID's {:.0} K/s", speed / rapid, rapid / 1e3),
        None => println!(),
    }
    Ok(())
}

/// In a process of its own: one analysis, then its peak memory. The mapped file is no need of the analysis, hence
/// apart.
fn one(name: &str, path: &Path) -> Result<()> {
    let analysis = reweave_predict::find(name).and_then(|analysis| analysis.pass());
    let (mut analysis, trace) = (analysis.expect("a streaming analysis of ours"), Trace::open(path)?);
    let mut own = 0;
    run(&trace, &mut *analysis, &mut |_| {
        own = own.max(memory("RssAnon:"));
        true
    })?;
    analysis.finish();
    println!("{} {}", own.max(memory("RssAnon:")), memory("VmHWM:"));
    Ok(())
}

fn report_memory(name: &str, paths: [&Path; 2]) {
    let peak = |path: &Path| {
        let child = std::env::current_exe().and_then(|exe| Command::new(exe).arg("one").arg(name).arg(path).output());
        let text = child.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default();
        let mut peaks = text.split_whitespace().map(|kib| kib.parse::<f64>().unwrap_or(f64::NAN) / 1024.0);
        (peaks.next().unwrap_or(f64::NAN), peaks.next().unwrap_or(f64::NAN))
    };
    let [(few, few_mapped), (all, all_mapped)] = paths.map(peak);
    println!(
        "{name:24} {few:8.1} MiB, then {all:8.1} MiB (VmHWM with the mapped file {few_mapped:.1}, {all_mapped:.1})"
    );
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if(|arg| arg == "one").is_some() {
        let (name, path) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
        return one(&name, Path::new(&path));
    }
    let events = args.next().and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let rest: Vec<String> = args.collect();
    let flag = |name: &str| rest.iter().any(|arg| arg == name);
    let shape = Shape { racy: flag("racy"), nested: flag("nested"), blocks: flag("blocks") };
    let named: Vec<&String> = rest.iter().filter(|arg| !["racy", "nested", "blocks"].contains(&arg.as_str())).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|arg| *arg == name);
    let folder = std::env::temp_dir().join(format!("reweave-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let (ours, std_text) = (folder.join("random.rwt"), folder.join("random.std"));
    make(&ours, events, shape)?;
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len()) as f64 / events as f64;
    println!("{events} events; {:.2} bytes/event as .rwt", size(&ours));
    if wanted("read-std") || wanted("hb-std") {
        text::convert(&ours, &std_text)?;
        println!("{:.2} bytes/event as .std", size(&std_text));
    }
    let trace = Trace::open(&ours)?;
    if wanted("read") {
        report("read", || {
            let (mut events, mut seen) = (trace.events(), 0);
            while events.next()?.is_some() {
                seen += 1;
            }
            Ok((seen, 0))
        })?;
    }
    if wanted("read-std") {
        report("read-std", || Ok((text::open(&std_text)?.event_count(), 0)))?;
    }
    if wanted("front") {
        report("front", || Ok((run(&trace, &mut Nothing, &mut |_| true)?, 0)))?;
    }
    if wanted("hb-std") {
        report("hb-std", || {
            let mut analysis = hb::HbRaces::default();
            let (trace, seen) = open_beside(&std_text, 1, |mut texts| {
                let text = texts.pop().expect("there is one reader");
                run_beside(text, &std_text, &mut analysis, &mut |_| true)
            })?;
            let seen = seen.unwrap_or_else(|| run(&trace, &mut analysis, &mut |_| true))?;
            Ok((seen, analysis.finish().pairs.len()))
        })?;
    }
    let streaming = || ANALYSES.iter().filter(|analysis| analysis.pass().is_some() && wanted(analysis.id().name()));
    for analysis in streaming() {
        report(analysis.id().name(), || {
            let mut pass = analysis.pass().expect("a streaming analysis");
            let seen = run(&trace, &mut *pass, &mut |_| true)?;
            let found = pass.finish();
            Ok((seen, found.pairs.len() + found.cycles.len()))
        })?;
    }
    println!("peak memory, {} and {events} events:", events / 10);
    let fewer = folder.join("fewer.rwt");
    make(&fewer, events / 10, shape)?;
    for analysis in streaming() {
        report_memory(analysis.id().name(), [&fewer, &ours]);
    }
    std::fs::remove_dir_all(&folder).ok();
    Ok(())
}

/// Costs nothing.
struct Nothing;

impl Linear for Nothing {
    fn access(&mut self, _: &reweave_predict::linear::Access, _: &[reweave_predict::linear::Touch]) {}
    fn left_out(&mut self, _: u64) {}
    fn sync(
        &mut self,
        _: reweave_model::EventId,
        _: reweave_predict::linear::Thread,
        _: reweave_predict::linear::Sync,
    ) {
    }
    fn forget(&mut self, _: reweave_predict::linear::Word) {}
    fn finish(&mut self) -> reweave_predict::linear::Candidates {
        Default::default()
    }
}
