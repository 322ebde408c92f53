//! The questions of the maximal engine about one trace, one by one: how long each takes, and, for other solvers, each
//! as an SMT-LIB file with everything that was found to matter.
//!
//!     cargo run --release -p reweave-predict --example questions -- TRACE|EVENTS [WINDOW] [FOLDER]
//!
//! A number instead of a trace makes one of so many events: 10 threads, 10 locks, 1,000 locations, one access in a
//! hundred outside of its lock.
//!
//! With `REWEAVE_Z3` naming a Z3 binary, Z3 answers the same files and the ratio is printed.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, ThreadId, Value};
use reweave_order::{Budget, smt};
use reweave_predict::feasible::{Feasibility, Goal, Index, Question};
use reweave_predict::history::{Mode, Pos};
use reweave_predict::lower::Windows;
use reweave_predict::testing::Random;
use reweave_trace::{Trace, TraceBuilder};

/// Of each answer.
const MOST: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().ok_or("name a trace, or a number of events")?;
    let trace = match first.parse() {
        Ok(events) => made(events)?,
        Err(_) => reweave_trace::open(first)?,
    };
    let window: usize = arguments.next().map_or(Ok(10_000), |word| word.parse())?;
    let folder = arguments.next().map(PathBuf::from);
    let mut windows = Windows::new(&trace, window, &mut |_| true)?;
    let Some(lowered) = windows.next_window()? else { return Ok(()) };
    let history = &lowered.history;
    let began = Instant::now();
    let index = Index::new(history);
    println!("{} kept events, index in {:?}", history.steps.len(), began.elapsed());
    let plain: Vec<Pos> = history.positions().filter(|&pos| history.step(pos).action.access().is_some()).collect();
    let (mut times, mut answers) = (Vec::new(), [0u32; 3]);
    let mut files = Vec::new();
    // Pairs that lie close together, all over the window, for so long.
    let until = Instant::now() + Duration::from_secs(30);
    let stride = (plain.len() / 5000).max(1);
    for (i, &first) in plain.iter().enumerate().step_by(stride) {
        if Instant::now() > until {
            break;
        }
        let Some(&second) = plain[i + 1..].iter().find(|&&second| history.conflict(first, second)) else { continue };
        let Some(question) =
            Question::new(&index, Mode::ControlFlow, Goal::race(history, Mode::ControlFlow, (first, second)))
        else {
            continue;
        };
        let began = Instant::now();
        let (answer, _, problem) = question.ask_and_keep(Budget::default());
        let took = began.elapsed();
        let expected = match answer {
            Feasibility::Reordering(_) => (0, "sat"),
            Feasibility::No => (1, "unsat"),
            Feasibility::Unknown(_) => (2, "unknown"),
        };
        if answers[expected.0] == MOST {
            continue;
        }
        answers[expected.0] += 1;
        times.push(took);
        if let Some(folder) = &folder {
            fs::create_dir_all(folder)?;
            let path = folder.join(format!("{}.smt2", files.len()));
            smt::write(&problem, &mut fs::File::create(&path)?)?;
            files.push((path, expected.1));
        }
    }
    let total: Duration = times.iter().sum();
    let most = times.iter().max().copied().unwrap_or_default();
    let mean = total.checked_div(times.len() as u32).unwrap_or_default();
    println!("{} questions: {answers:?} sat, unsat, unknown; mean {mean:?}, longest {most:?}", times.len());
    if let (Some(z3), false) = (std::env::var_os("REWEAVE_Z3"), files.is_empty()) {
        let (mut theirs, mut differ, mut slow) = (Duration::ZERO, 0, 0);
        for (path, expected) in &files {
            let began = Instant::now();
            let output = Command::new(&z3).arg("-T:60").arg(path).output()?;
            theirs += began.elapsed();
            let text = String::from_utf8_lossy(&output.stdout);
            match text.lines().next() {
                Some(answer) if answer == *expected => {}
                Some("timeout" | "unknown") => slow += 1,
                _ => differ += 1,
            }
        }
        println!(
            "Z3: {theirs:?} in all, {:.0} times ours; {differ} other answers, {slow} out of time",
            ratio(theirs, total)
        );
    }
    std::io::stdout().flush()?;
    Ok(())
}

/// A random trace; nothing is known of branches, so every event counts as guarded.
fn made(events: u64) -> reweave_trace::Result<Trace> {
    let mut builder = TraceBuilder::default();
    let mut random = Random::new(7);
    let mut below = |limit: u64| random.bits() % limit;
    let (mut holds, mut taken, mut values) = ([None; 10], [false; 10], [0u64; 1000]);
    builder.push(ThreadId(0), Pc(1), Op::Begin)?;
    for child in 1..10 {
        builder.push(ThreadId(0), Pc(2), Op::Fork { child: ThreadId(child), nth: child - 1 })?;
        builder.push(ThreadId(child), Pc(3), Op::Begin)?;
    }
    while builder.next_event().0 < events {
        let thread = below(10) as usize;
        let (id, pc) = (ThreadId(thread as u32), Pc(0x1000 + builder.next_event().0));
        let lock = |lock: usize| ObjectId(0x7000_0000 + 64 * lock as u64);
        let place = match holds[thread] {
            None if below(100) == 0 => below(1000) as usize,
            None => {
                let wanted = below(10) as usize;
                if !taken[wanted] {
                    (taken[wanted], holds[thread]) = (true, Some(wanted));
                    builder.push(
                        id,
                        pc,
                        Op::Acquire { object: lock(wanted), mode: LockMode::Exclusive, tried: false },
                    )?;
                }
                continue;
            }
            Some(held) if below(5) == 0 => {
                (taken[held], holds[thread]) = (false, None);
                builder.push(id, pc, Op::Release { object: lock(held), mode: LockMode::Exclusive })?;
                continue;
            }
            Some(held) => held + 10 * below(100) as usize,
        };
        let (addr, size, flags) = (Addr(0x10_0000 + 8 * place as u64), 8, AccessFlags(0));
        let op = if below(5) < 2 {
            values[place] = builder.next_event().0;
            Op::Write { addr, size, value: Value::Word(values[place]), flags }
        } else {
            Op::Read { addr, size, value: Value::Word(values[place]), flags }
        };
        builder.push(id, pc, op)?;
    }
    builder.into_trace()
}

fn ratio(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64().max(1e-9)
}
