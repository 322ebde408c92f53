//! How fast the streaming analyses are: `cargo run --release -p reweave-predict --example speed -- EVENTS [racy] [hb wcp…]`.
//!
//! Makes a random trace of 10 threads, 10 locks and 1,000 locations (60 % reads, short critical sections), as our file and as
//! STD text, and prints events per second (of processor time) and the memory still in use at its end for reading alone and for each analysis.
//! Each location belongs to a lock and one access in a thousand forgets it; with `racy` locks protect nothing.

use std::path::Path;
use std::time::Instant;

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, ThreadId, Value};
use reweave_predict::analyses::{cp, hb, lockset, shb, syncp, wcp};
use reweave_predict::linear::{Front, Linear, run, run_on};
use reweave_trace::{Meta, Result, StdEvents, Trace, TraceBuilder, text};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

fn make(path: &Path, events: u64, racy: bool) -> Result<()> {
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
    let mut taken = [false; 10];
    let mut left = [0u64; 10];
    while builder.next_event().0 < events {
        let thread = random.below(10) as usize;
        let id = ThreadId(thread as u32);
        // A thread runs for a while before the next one does.
        for _ in 0..1 + random.below(8) {
            match holds[thread] {
                None if random.below(2) == 0 => {
                    let wanted = random.below(10);
                    if !taken[wanted as usize] {
                        let op = Op::Acquire { object: lock(wanted), mode: LockMode::Exclusive, tried: false };
                        builder.push(id, pc(2, wanted), op)?;
                        taken[wanted as usize] = true;
                        (holds[thread], left[thread]) = (Some(wanted), 1 + random.below(6));
                        continue;
                    }
                }
                Some(held) if left[thread] == 0 => {
                    let op = Op::Release { object: lock(held), mode: LockMode::Exclusive };
                    builder.push(id, pc(3, held), op)?;
                    taken[held as usize] = false;
                    holds[thread] = None;
                    continue;
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

/// Memory in use, the mapped trace apart, in KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// On the processor so far, whatever else the machine does.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The best of three runs: the others were disturbed.
fn report(what: &str, mut run: impl FnMut() -> Result<(u64, usize)>) -> Result<()> {
    let (mut best, mut wall, mut total, mut found, mut grown) = (f64::MAX, f64::MAX, 0, 0, 0);
    for _ in 0..3 {
        let (start, cpu, before) = (Instant::now(), cpu_seconds(), memory());
        (total, found) = run()?;
        best = best.min(cpu_seconds() - cpu);
        wall = wall.min(start.elapsed().as_secs_f64());
        grown = grown.max(memory().saturating_sub(before));
        if wall > 2.0 {
            break;
        }
    }
    let speed = total as f64 / best / 1e6;
    println!("{what:10} {speed:8.2} M events/s {best:7.3} s cpu {wall:7.3} s wall {found:6} pairs {grown:8} KiB kept");
    Ok(())
}

/// A fresh analysis by name.
type Make = fn() -> Box<dyn Linear>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let events = args.next().and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let rest: Vec<String> = args.collect();
    let racy = rest.iter().any(|arg| arg == "racy");
    let named: Vec<&String> = rest.iter().filter(|arg| *arg != "racy").collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|arg| *arg == name);
    let folder = std::env::temp_dir().join(format!("reweave-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let (ours, std_text) = (folder.join("random.rwt"), folder.join("random.std"));
    make(&ours, events, racy)?;
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
        report("read-std", || {
            let (mut events, mut seen) = (StdEvents::open(&std_text)?, 0);
            while events.next()?.is_some() {
                seen += 1;
            }
            Ok((seen, 0))
        })?;
    }
    if wanted("front") {
        report("front", || Ok((run(&trace, &mut Nothing, &mut |_| {})?, 0)))?;
    }
    if wanted("hb-std") {
        report("hb-std", || {
            let mut analysis = hb::HbRaces::default();
            let source = StdEvents::open(&std_text)?;
            let seen = run_on(source, Front::new(&std_text), &mut analysis, &mut |_| {})?;
            Ok((seen, analysis.finish().pairs.len()))
        })?;
    }
    let all: [(&str, Make); 6] = [
        ("hb", || Box::<hb::HbRaces>::default()),
        ("shb", || Box::<shb::ShbRaces>::default()),
        ("lockset", || Box::<lockset::LocksetRaces>::default()),
        ("wcp", || Box::<wcp::WcpRaces>::default()),
        ("syncp", || Box::<syncp::SyncpRaces>::default()),
        ("cp", || Box::<cp::CpRaces>::default()),
    ];
    for (name, make) in all {
        if wanted(name) {
            report(name, || {
                let mut analysis = make();
                let seen = run(&trace, &mut *analysis, &mut |_| {})?;
                Ok((seen, analysis.finish().pairs.len()))
            })?;
        }
    }
    std::fs::remove_dir_all(&folder).ok();
    Ok(())
}

/// Costs nothing.
struct Nothing;

impl Linear for Nothing {
    fn access(&mut self, _: &reweave_predict::linear::Access, _: &[reweave_predict::linear::Touch]) {}
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
