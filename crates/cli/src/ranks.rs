//! `reweave test`, `record`, `predict`, `watch`, `confirm` and `replay` of programs of many ranks.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use reweave_launch::{Error, PrivateFolder, exit, human_size};
use reweave_report::{Report, Style, text};
use reweave_spmd::host::{self, Again, Local, Look, Owners, Recording, Request, Stage, Start};

use crate::commands::test::ExitRule;
use crate::front_ends::FRONT_ENDS;
use crate::output::{self, counted, grouped};
use crate::progress::Bar;
use crate::triage::TriageFiles;

/// What is looked at in programs of many ranks.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Programs of many ranks (MPI, OpenSHMEM)")]
pub struct Looking {
    /// Which loads and stores are looked at: all, a sample of them, or none (only calls) [default: all]
    #[arg(long, value_enum, value_name = "WHICH")]
    local: Option<Which>,
    /// Look only at the memory of these ranks: 2, 0-3 or 0-3,8
    #[arg(long, value_name = "RANKS")]
    ranks: Option<Owners>,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Sampled,
    None,
}

impl Looking {
    /// `sample`: how a sample is taken. An error is a sentence.
    pub fn look(&self, sample: Option<Local>) -> Result<Look, String> {
        let local = match (self.local, sample) {
            (None, None) | (Some(Which::All), None) => Local::All,
            (None | Some(Which::Sampled), Some(sample)) => sample,
            (Some(Which::Sampled), None) => Local::SAMPLED,
            (Some(Which::None), None | Some(Local::None)) => Local::None,
            (Some(Which::All | Which::None), Some(_)) => {
                return Err("--sample says how a sample is taken: that is --local sampled".into());
            }
        };
        Ok(Look { local, owners: self.owners() })
    }

    pub fn owners(&self) -> Owners {
        self.ranks.clone().unwrap_or_default()
    }

    /// Says that options are for many ranks, if the program is not such a one and has some: gives the exit code.
    pub fn refused(&self) -> Option<i32> {
        (self.local.is_some() || self.ranks.is_some()).then(|| {
            eprintln!("reweave: --local and --ranks are for programs of many ranks (mpirun, oshrun)");
            exit::USAGE
        })
    }
}

/// Runs the test and tells what it found.
pub fn test(request: &Request, judge: &TriageFiles, detail: text::Detail, passing: ExitRule) -> i32 {
    print_result(request, false, judge, detail, passing)
}

/// Tries to make happen what the recording in the folder shows. An empty command: the recorded one.
pub fn confirm(folder: &Path, command: &[OsString], budget: Duration, strict: bool) -> i32 {
    let recording = match Recording::open(folder) {
        Ok(recording) => recording,
        Err(error) => return output::fail(&error),
    };
    let cwd = if command.is_empty() { recording.cwd } else { std::env::current_dir().unwrap_or_default() };
    let command = if command.is_empty() { recording.command } else { command.to_vec() };
    let request = Request {
        front_ends: FRONT_ENDS,
        command,
        cwd,
        folder: folder.to_owned(),
        budget,
        strict,
        fail_fast: false,
        look: Look::default(),
    };
    print_result(&request, true, &TriageFiles::default(), text::Detail::Full, ExitRule::default())
}

/// Runs the program and keeps the logs of its ranks in the folder; gives the program's status.
pub fn record(command: &[OsString], folder: &Path, max_log: u64, look: &Look) -> i32 {
    if folder.is_file() {
        eprintln!("reweave: {} is a file: the logs of many ranks need a folder (-o)", folder.display());
        return exit::USAGE;
    }
    match listen(command, folder, max_log, false, look) {
        Ok(recording) => {
            summary(&recording, &format!("{}: ", folder.display()));
            recording.ended.status
        }
        Err(error) => output::fail(&error),
    }
}

fn listen(
    command: &[OsString],
    folder: &Path,
    max_log: u64,
    online: bool,
    look: &Look,
) -> reweave_launch::Result<Recording> {
    let cwd = std::env::current_dir().unwrap_or_default();
    host::record(Start { command, cwd: &cwd, limit: None, max_log: Some(max_log), online, look }, folder)
}

/// What ranks did that judged while they ran.
fn watched_summary(recording: &Recording) {
    if recording.notes.online == 0 {
        return summary(recording, "watched ");
    }
    let ranks = counted(recording.logs.len() as u64, "rank", "ranks");
    let counts = recording.notes.judged.iter().map(|(counts, _)| counts);
    let (mut accesses, mut phases, mut bytes) = (0, 0, 0);
    for counts in counts {
        (accesses, bytes) = (accesses + counts.accesses, bytes + counts.bytes_sent);
        phases = phases.max(counts.phases);
    }
    let phases = counted(phases, "phase", "phases");
    let (accesses, bytes) = (grouped(accesses), human_size(bytes));
    eprintln!(
        "reweave: watched {ranks}, {accesses} accesses in {phases}, {bytes} sent to the ranks whose memory it was"
    );
}

fn summary(recording: &Recording, before: &str) {
    let ranks = counted(recording.logs.len() as u64, "rank", "ranks");
    let entries = grouped(recording.entries() as u64);
    eprintln!("reweave: {before}{ranks}, {entries} entries in their logs, {}", human_size(recording.bytes));
}

/// What an entry of a rank's log grows to when it is judged, as a multiple. Measured with loads of which no two can be
/// put together, which have the shortest entries: 25.2 with a log of 1 MiB, 24.8 with one of 4 MiB.
const GROWS: u64 = 26;

/// Runs the program once, its ranks judging what they do while it runs, and tells what they found; gives the program's
/// status. `memory`: bytes that a rank may use.
pub fn watch(command: &[OsString], memory: u64, look: &Look, json: Option<&Path>) -> i32 {
    let watched = PrivateFolder::new().and_then(|folder| listen(command, folder.path(), memory / GROWS, true, look));
    let recording = match watched {
        Ok(recording) => recording,
        Err(error) => return output::fail(&error),
    };
    watched_summary(&recording);
    let tested = host::predict(FRONT_ENDS, &recording, false, &look.owners);
    notes(&tested.notes);
    let style = Style::for_stderr().with_detail(text::Detail::Full);
    let _ = text::write(&tested.report, "", style, &mut io::stderr().lock());
    if let Some(path) = json
        && let Err(source) = std::fs::write(path, tested.report.to_json())
    {
        return output::fail(&Error::Output { action: "write", path: path.to_owned(), source });
    }
    recording.ended.status
}

/// What the recording in the folder shows.
pub fn predict(folder: &Path, strict: bool, owners: &Owners) -> reweave_launch::Result<Report> {
    let tested = host::predict(FRONT_ENDS, &Recording::open(folder)?, strict, owners);
    notes(&tested.notes);
    Ok(tested.report)
}

fn notes(notes: &[String]) {
    for note in notes {
        eprintln!("reweave: {note}");
    }
}

fn print_result(
    request: &Request,
    recorded: bool,
    judge: &TriageFiles,
    detail: text::Detail,
    passing: ExitRule,
) -> i32 {
    let loud = detail > text::Detail::Quiet;
    let mut bar: Option<Bar> = None;
    let deadline = std::time::Instant::now() + request.budget;
    let settle = if recorded { host::confirm_again } else { host::test };
    let tested = settle(request, &mut |stage| match stage {
        Stage::Recorded { ranks, entries } if loud => {
            let ranks = counted(ranks as u64, "rank", "ranks");
            eprintln!("reweave: {ranks}, {} entries in their logs", grouped(entries as u64));
            bar = Some(Bar::until(deadline));
        }
        Stage::Confirming { done, total } => {
            if let Some(bar) = &bar {
                bar.phase("confirming", done as u64, total as u64, &format!("{done} of {total}"));
            }
        }
        Stage::Found(item) if loud && judge.is_news(item) => {
            let line = Style::for_stderr().wrap(&format!("reweave: confirmed {}", text::headline(item)), 4);
            match &bar {
                Some(bar) => bar.print_line(&line),
                None => eprintln!("{line}"),
            }
        }
        Stage::Recorded { .. } | Stage::Found(_) => {}
    });
    if let Some(bar) = bar {
        bar.done();
    }
    let mut tested = match tested {
        Ok(tested) => tested,
        Err(error) => return output::fail(&error),
    };
    if judge.apply(&mut tested.report)
        && let Err(error) = reweave_hunt::pipeline::save_report(&tested.report, &request.folder)
    {
        return output::fail(&error);
    }
    if loud {
        notes(&tested.notes);
        if tested.report.has_findings() {
            eprintln!();
        }
    }
    let folder = request.folder.display().to_string();
    let style = Style::for_stderr().with_detail(detail);
    let _ = text::write(&tested.report, &folder, style, &mut io::stderr().lock());
    match () {
        () if tested.report.has_findings() => exit::FINDINGS,
        () if reweave_launch::interrupt::asked() => exit::USAGE,
        () if !passing.allow_unchecked && tested.report.unchecked.is_some() => exit::USAGE,
        () => exit::CLEAN,
    }
}

/// Does both orders of a finding again, so many times: 1 if both happened every time.
pub fn replay(again: &Again, times: u32) -> i32 {
    let mut happened = 0;
    for time in 1..=times {
        let replayed = match again.replay() {
            Ok(replayed) => replayed,
            Err(error) => return output::fail(&error),
        };
        happened += u32::from(replayed.happened);
        if times == 1 || !replayed.happened {
            for (order, (did, values)) in replayed.orders.iter().enumerate() {
                let which = if order == 0 { "(1) before (2)" } else { "(2) before (1)" };
                let what = if *did { "happened" } else { "did not happen" };
                let values = if values.is_empty() { String::new() } else { format!(": {values}") };
                eprintln!("reweave: replay {time}: {which} {what}{values}");
            }
        }
    }
    eprintln!("reweave: both orders happened again in {happened} of {times} replays");
    if happened == times { exit::FINDINGS } else { exit::CLEAN }
}

/// Says that a command cannot deal with the findings of many ranks, if the folder has such: gives the exit code.
pub fn refused(folder: &Path, command: &str) -> Option<i32> {
    let ranks =
        folder.join(host::RANKS).is_dir() || folder.parent().is_some_and(|test| test.join(host::RANKS).is_dir());
    ranks.then(|| {
        let folder = folder.display();
        eprintln!("reweave: {folder}: findings of many ranks cannot be given to `reweave {command}`: test again");
        exit::USAGE
    })
}
