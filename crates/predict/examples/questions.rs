//! The questions of the maximal engine about one trace, one by one: how long each takes, and, for other solvers, each as an
//! SMT-LIB file with everything that was found to matter.
//!
//!     cargo run --release -p reweave-predict --example questions -- TRACE [WINDOW] [FOLDER]
//!
//! With `REWEAVE_Z3` naming a Z3 binary, Z3 answers the same files and the ratio is printed.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use reweave_order::{Budget, smt};
use reweave_predict::feasible::{Answer, Index, Question};
use reweave_predict::history::{Mode, Pos};
use reweave_predict::lower::Windows;

/// Of each answer.
const MOST: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let trace = reweave_trace::open(arguments.next().ok_or("name a trace")?)?;
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
    // Pairs that lie close together.
    for (i, &first) in plain.iter().enumerate() {
        let Some(&second) = plain[i + 1..].iter().find(|&&second| history.conflict(first, second)) else { continue };
        let Some(question) = Question::new(&index, Mode::ControlFlow, &[first, second]) else { continue };
        let began = Instant::now();
        let (answer, _, problem) = question.ask_and_keep(Budget::default());
        let took = began.elapsed();
        let expected = match answer {
            Answer::Reordering(_) => (0, "sat"),
            Answer::No => (1, "unsat"),
            Answer::Unknown(_) => (2, "unknown"),
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

fn ratio(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64().max(1e-9)
}
