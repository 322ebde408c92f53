//! How the commands talk: our own words go to stderr, results asked for (events, reports) to stdout.

use std::io::{self, Write};

use reweave_hunt::confirm;
use reweave_launch::{Error, Run, exit, human_size};
use reweave_report::{Describer, resolve};
use reweave_trace::Outcome;

/// Tells an error and gives the exit code for it.
pub fn fail(error: &Error) -> i32 {
    eprintln!("reweave: {error}");
    error.exit_code()
}

pub fn fail_trace(error: reweave_trace::Error) -> i32 {
    fail(&Error::from(error))
}

/// Writes results to stdout. A reader that has gone (`| head`) is no error of ours.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> i32 {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Ok(()) => exit::CLEAN,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::CLEAN,
        Err(error) => {
            eprintln!("reweave: cannot write to stdout: {error}: send the output to a file or a pipe");
            exit::USAGE
        }
    }
}

/// Who waits for what in a run that hung.
fn hang_report(path: &std::path::Path) {
    let Ok(trace) = reweave_trace::Trace::open(path) else { return };
    let Ok(places) = confirm::last_places(&trace, &Outcome::Hung) else { return };
    let describer = Describer::of(&trace);
    for place in places {
        let op = resolve::operation(place.op, describer);
        eprintln!("  thread {}: {op} at {}", place.thread, describer.place(place.pc));
    }
}

/// `1 process`, `2 processes`
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// What may have gone wrong in a run, on stderr.
pub fn run_warnings(run: &Run) {
    for warning in run.warnings.iter().chain(run.processes.iter().flat_map(|process| &process.warnings)) {
        eprintln!("reweave: warning: {warning}");
    }
    if let Some(blind_spot) = run.blind_spot() {
        eprintln!("reweave: warning: {blind_spot}");
    }
    if let Some(shortcoming) = run.shortcoming() {
        eprintln!("reweave: {shortcoming}");
    }
}

/// What there is to say about a recorded run, on stderr.
pub fn run_summary(run: &Run) {
    run_warnings(run);
    if run.aslr == reweave_trace::Aslr::On {
        eprintln!("reweave: addresses stay random (personality was refused here): replay matches by name");
    }
    for process in &run.processes {
        let per_event = process.bytes as f64 / process.events.max(1) as f64;
        eprintln!(
            "reweave: {}: {} events of {} threads in {} ({per_event:.1} bytes/event){}",
            process.path.display(),
            grouped(process.events),
            process.threads,
            human_size(process.bytes),
            outcome_suffix(&process.outcome)
        );
        if process.outcome == Outcome::Hung {
            hang_report(&process.path);
        }
    }
    if run.timed_out {
        eprintln!(
            "reweave: warning: the program did not end within a quarter of the time budget and was stopped (see \
             --budget)"
        );
    }
}

fn outcome_suffix(outcome: &Outcome) -> String {
    match reweave_report::describe::outcome(outcome) {
        Some(text) => format!(", {text}"),
        None => String::new(),
    }
}

/// `1,234,567`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
