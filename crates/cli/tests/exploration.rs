//! Exploration against the enumeration of all schedules: the same ends and the same number of classes, on small
//! programs.
//!
//! `REWEAVE_ENUMERATE=1` enumerates the schedules of every program (`cargo xtask oracle schedules`), not only of the
//! smallest ones.

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{FRONT_ENDS, Scratch, root};
use reweave_hunt::explore::{self, ExploreLimits, Explored};
use reweave_hunt::replay::{base_options, script};
use reweave_launch::{Collected, Input, Options, Output, session};
use reweave_model::{Event, InputSource, Op, Schedule, ThreadId, ThreadName};
use reweave_trace::{Outcome, Trace};

/// Ends of runs.
type Ends = BTreeSet<&'static str>;

/// Every program of `tests/explore`: how many classes it has, and how its runs end.
const PROGRAMS: &[(&str, u64, &[&str])] = &[
    ("barrier.c", 2, &["fine"]),
    ("compare_exchange.c", 2, &["fine"]),
    ("condition_bad.c", 2, &["fine", "hung"]),
    ("condition_if_bad.c", 5, &["fine", "hung", "signal"]),
    ("condition_ok.c", 2, &["fine"]),
    ("deadlock.c", 2, &["fine", "hung"]),
    ("early_exit.c", 3, &["fine", "status"]),
    ("fetch_add.c", 6, &["fine"]),
    ("freed_bad.c", 2, &["fine"]),
    ("gate_ok.c", 1, &["fine"]),
    ("locked_update.c", 2, &["fine"]),
    ("lost_update.c", 3, &["fine", "signal"]),
    ("message.c", 2, &["fine"]),
    ("nested_fork.c", 2, &["fine", "signal"]),
    ("new_code.c", 5, &["fine", "signal"]),
    ("once.c", 2, &["fine"]),
    ("rwlock.c", 4, &["fine"]),
    ("semaphore_bad.c", 3, &["fine", "signal"]),
    ("semaphore_ok.c", 2, &["fine"]),
    ("semaphore_try.c", 2, &["fine"]),
    ("store_buffer.c", 3, &["fine"]),
    ("timed_wait.c", 3, &["fine", "status"]),
    ("trylock_bad.c", 4, &["fine", "signal"]),
    ("trylock_ok.c", 4, &["fine"]),
    ("two_deviations.c", 4, &["fine", "signal"]),
    ("upgrade_bad.c", 4, &["fine", "signal"]),
];

/// Those whose schedules are enumerated by every test run.
const SMALLEST: [&str; 3] = ["condition_bad.c", "condition_ok.c", "early_exit.c"];

fn end(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Exited { status: 0 } => "fine",
        Outcome::Exited { .. } => "status",
        Outcome::Signalled { .. } => "signal",
        Outcome::Hung => "hung",
        _ => "other",
    }
}

fn record(scratch: &Scratch, program: &Path) -> Collected {
    let mut options = Options::new(FRONT_ENDS, vec![program.into()], scratch.join("first.rwt"));
    options.input = Input::Nothing;
    options.output = Output::File(scratch.join("output"));
    let mut run = session::run(&options).expect("a recorded run");
    run.processes.remove(0)
}

fn explore(scratch: &Scratch, first: &Collected) -> (Explored, Ends) {
    let _ = scratch;
    let trace = Trace::open(&first.path).expect("the trace");
    let mut ends = Ends::from([end(&first.outcome)]);
    let until = Instant::now() + Duration::from_secs(60);
    let limits = ExploreLimits {
        front_ends: FRONT_ENDS,
        until,
        took: Duration::from_millis(100),
        events: u64::MAX,
        seed: 0,
        jobs: 2,
        isolate: false,
        quantum: None,
    };
    let explored = explore::explore(&trace, &limits, &mut |run, _| {
        ends.extend(run.and_then(|(run, _)| run.processes.first()).map(|process| end(&process.outcome)));
        Ok(ControlFlow::Continue(()))
    });
    (explored.expect("exploration"), ends)
}

/// Steps of a run: who made each, and a number for the run up to there that is the same for all runs in which the same
/// steps depend on each other in the same way.
struct Steps {
    threads: Vec<ThreadName>,
    who: Vec<u32>,
    before: Vec<u64>,
    /// Threads that are there.
    alive: Vec<Vec<u32>>,
}

fn mix(one: u64, two: u64) -> u64 {
    (one ^ two.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// What a step uses, and whether it changes it.
fn uses(event: &Event<'_>) -> Vec<(u64, bool)> {
    let words = |addr: u64, size: u64, writes: bool| {
        (addr >> 3..=(addr + size.max(1) - 1) >> 3).map(|word| (word, writes)).collect::<Vec<_>>()
    };
    let object = |id: u64| (id | 1 << 62, true);
    let thread = |id: ThreadId| (u64::from(id.0) | 1 << 61, true);
    match event.op {
        Op::Read { addr, size, .. } => words(addr.0, size.into(), false),
        Op::Write { addr, size, .. } => words(addr.0, size.into(), true),
        Op::Atomic { addr, size, kind, .. } => words(addr.0, size.into(), kind.writes()),
        Op::Free { addr, size } => words(addr.0, size, true),
        Op::Fork { child, .. } | Op::Join { child } => vec![thread(child)],
        Op::Begin | Op::End => vec![thread(event.thread)],
        Op::Wait { condition, mutex, .. } | Op::Woken { condition, mutex, .. } => {
            vec![object(condition.0), object(mutex.0)]
        }
        Op::Notify { condition, .. } => vec![object(condition.0)],
        Op::Acquire { object: id, .. }
        | Op::Release { object: id, .. }
        | Op::Refused { object: id, .. }
        | Op::Blocked { object: id, .. }
        | Op::Create { object: id, .. }
        | Op::OnceBegin { object: id }
        | Op::OnceEnd { object: id }
        | Op::OnceDone { object: id }
        | Op::BarrierArrive { barrier: id, .. }
        | Op::BarrierLeave { barrier: id, .. }
        | Op::SemaphorePost { semaphore: id, .. }
        | Op::SemaphoreTake { semaphore: id, .. } => vec![object(id.0)],
        _ => Vec::new(),
    }
}

fn steps(trace: &Trace) -> Steps {
    let mut steps = Steps { threads: vec![ThreadName::MAIN], who: Vec::new(), before: Vec::new(), alive: Vec::new() };
    let mut index: HashMap<ThreadId, u32> = HashMap::from([(ThreadId(0), 0)]);
    let mut alive = vec![0];
    let (mut sum, mut own): (u64, BTreeMap<u32, u64>) = (0, BTreeMap::new());
    // The last change of each thing, and all that looked at it since.
    let mut things: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next().expect("the trace") {
        if !event.op.is_step() {
            continue;
        }
        let who = index[&event.thread];
        steps.who.push(who);
        steps.before.push(sum);
        steps.alive.push(alive.clone());
        let mut hash = mix(own.get(&who).copied().unwrap_or(u64::from(who) + 1), 7);
        for (thing, changes) in uses(&event) {
            let (change, looks) = things.entry(thing).or_insert((thing, 0));
            hash = mix(hash, if changes { mix(*change, *looks) } else { *change });
        }
        for (thing, changes) in uses(&event) {
            let last = things.entry(thing).or_insert((thing, 0));
            *last = if changes { (hash, 0) } else { (last.0, last.1.wrapping_add(hash)) };
        }
        own.insert(who, hash);
        sum = sum.wrapping_add(hash);
        match event.op {
            Op::Fork { child, nth } => {
                let new = steps.threads.len() as u32;
                index.insert(child, new);
                steps.threads.push(ThreadName { parent: who, nth });
                alive.push(new);
            }
            Op::End => alive.retain(|other| *other != who),
            _ => {}
        }
    }
    steps
}

/// All schedules, up to the order of steps that do not depend on each other.
fn enumerate(scratch: &Scratch, first: &Collected) -> (usize, Ends, usize) {
    let base = Trace::open(&first.path).expect("the trace");
    let mut classes = HashSet::new();
    let mut ends = Ends::new();
    let mut seen: HashSet<(u64, ThreadName, u32)> = HashSet::new();
    let mut todo: Vec<Schedule> = vec![Schedule { threads: vec![ThreadName::MAIN], segments: Vec::new() }];
    let mut runs = 0;
    while let Some(schedule) = todo.pop() {
        let forced: u32 = schedule.segments.iter().map(|segment| segment.steps).sum();
        let mut options = base_options(FRONT_ENDS, base.meta(), scratch.join("next.rwt"));
        options
            .scripts
            .push(script(&base, schedule, None, |_, _, source| source != InputSource::Clock).expect("a script"));
        options.output = Output::File(scratch.join("output"));
        options.timeout = Some(Duration::from_secs(10));
        let run = session::run(&options).expect("a run");
        runs += 1;
        let process = run.processes.first().expect("it was recorded");
        if process.diverged.is_some() {
            continue;
        }
        let trace = Trace::open(&process.path).expect("the trace");
        classes.insert(explore::class_of(&trace).expect("the trace").expect("few threads"));
        ends.insert(end(&process.outcome));
        let steps = steps(&trace);
        let mut way = Schedule { threads: steps.threads.clone(), segments: Vec::new() };
        for (at, &who) in steps.who.iter().enumerate() {
            if at as u32 >= forced {
                for &other in &steps.alive[at] {
                    let name = steps.threads[other as usize];
                    if seen.insert((steps.before[at], name, other)) && other != who {
                        let mut next = way.clone();
                        next.push(ThreadId(other), 1);
                        todo.push(next);
                    }
                }
            }
            way.push(ThreadId(who), 1);
        }
    }
    (classes.len(), ends, runs)
}

#[test]
fn everything_is_covered() {
    let mut wrong = Vec::new();
    for &(name, classes, ends) in PROGRAMS {
        let scratch = Scratch::new("explore");
        let program = scratch.build(&format!("explore/{name}"));
        let first = record(&scratch, &program);
        let (explored, found) = explore(&scratch, &first);
        let found: Vec<_> = found.into_iter().collect();
        if (explored.why_not, explored.classes, &found[..]) != (None, classes, ends) {
            wrong.push(format!("{name}: {explored:?} {found:?}, expected {classes} {ends:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_program_is_left_out() {
    let folder = root().join("tests/explore").read_dir().expect("the programs");
    let files: BTreeSet<String> =
        folder.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    let listed: BTreeSet<String> = PROGRAMS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(files, listed);
}

#[test]
fn enumeration_gives_the_same() {
    let all = std::env::var_os("REWEAVE_ENUMERATE").is_some();
    let mut wrong = Vec::new();
    for &(name, classes, ends) in PROGRAMS.iter().filter(|(name, ..)| all || SMALLEST.contains(name)) {
        let scratch = Scratch::new("enumerate");
        let program = scratch.build(&format!("explore/{name}"));
        let first = record(&scratch, &program);
        let (found, found_ends, runs) = enumerate(&scratch, &first);
        let (explored, _) = explore(&scratch, &first);
        println!("exploration {name}: {found} classes, {runs} schedules, {} runs of exploration", explored.runs);
        let found_ends: Vec<_> = found_ends.into_iter().collect();
        if (found as u64, &found_ends[..]) != (classes, ends) {
            wrong.push(format!("{name}: {found} {found_ends:?}, expected {classes} {ends:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
