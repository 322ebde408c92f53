//! `reweave test` and `reweave replay` of programs of many ranks.

use std::io;
use std::path::Path;

use reweave_launch::exit;
use reweave_report::{Style, text};
use reweave_spmd::host::{self, Again, Request, Stage};

use crate::commands::test::Passing;
use crate::output::{self, counted, grouped};
use crate::progress::Bar;
use crate::triage::Judge;

/// Runs the test and tells what it found.
pub fn test(request: &Request, judge: &Judge, detail: text::Detail, passing: Passing) -> i32 {
    let loud = detail > text::Detail::Quiet;
    let mut bar: Option<Bar> = None;
    let deadline = std::time::Instant::now() + request.budget;
    let tested = host::test(request, &mut |stage| match stage {
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
                Some(bar) => bar.tell(&line),
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
        for note in &tested.notes {
            eprintln!("reweave: {note}");
        }
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
