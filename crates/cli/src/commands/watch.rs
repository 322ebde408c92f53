//! `reweave watch`

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use reweave_launch::watch::{self, MAX_MEMORY, Plan, WatchEvent, Watched};
use reweave_launch::{Error, Options, QUANTUM, QUIET_SLICES, exit, human_size};
use reweave_predict::{ANALYSES, AnalysisRef, Watching, live};
use reweave_report::{Style, text};
use reweave_spmd::host::Local;

use super::record::{Freedom, LeavingOut, Scheduling};
use crate::front_ends::FRONT_ENDS;
use crate::output::{self, grouped};
use crate::ranks::Looking;
use crate::size::parse_size;

/// Run a program and report what is wrong with it while it runs
///
/// The events go straight into the analyses: nothing is written to disk, and memory stays bounded, so servers and long
/// tests can be watched for hours. Where the analyses are slower than the program, the program waits. Every finding is
/// potential: `reweave test` tries to confirm it. Every process of the program that was built with `reweave cc` is
/// watched.
#[derive(clap::Args)]
#[command(override_usage = "reweave watch [OPTIONS] -- PROG [ARGS]...", after_help = after_help())]
pub struct Args {
    /// Only these analyses
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    analysis: Vec<String>,
    /// Look at fewer accesses: skip those that another one covers, and sample repeated ones less and less. Of programs of
    /// many ranks: loads and stores, by a strategy that `reweave record --help` explains [default: HA.5]
    #[arg(long, value_name = "STRATEGY", num_args = 0..=1, require_equals = true, default_missing_value = SAMPLED)]
    sample: Option<Local>,
    /// With --sample: also look at all of them, and count the pairs of places that were lost
    #[arg(long, requires = "sample")]
    check: bool,
    /// Also record accesses that only repeat what their thread just did: slower, finds the same
    #[arg(long)]
    every_access: bool,
    /// Forget what was seen of earlier accesses when `reweave` itself needs more memory than this (of programs of many
    /// ranks: each of them) [default: 2G, 64M for a rank]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
    /// Write the findings as JSON at the end
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    freedom: Freedom,
    #[command(flatten)]
    leaving_out: LeavingOut,
    #[command(flatten)]
    scheduling: Scheduling,
    #[command(flatten)]
    looking: Looking,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "PROG")]
    command: Vec<OsString>,
}

/// What `--sample` alone means for loads and stores of many ranks.
const SAMPLED: &str = "HA.5";

/// What a rank may use when nobody says how much.
const RANK_MEMORY: u64 = 64 << 20;

/// Analyses whose memory does not grow with the length of the run.
fn known() -> impl Iterator<Item = (AnalysisRef, Watching)> {
    ANALYSES.iter().filter_map(|analysis| Some((*analysis, analysis.watching()?)))
}

fn after_help() -> String {
    let mut text = String::from("Analyses (* by default):\n");
    for (analysis, watching) in known() {
        let mark = if watching.is_default { '*' } else { ' ' };
        text += &format!("  {mark} {:<12} {}\n", analysis.id().name(), analysis.about().summary);
    }
    text + "\nCtrl-C goes to the program; a second one ends it. The summary is printed either way.\n\
        \nExamples:\n  \
        reweave watch -- ./server --port 8000\n  \
        reweave watch --sample --json findings.json -- ./long_test\n  \
        reweave watch --analysis hb,goodlock,lock-history -- make check   # patterns, too"
}

/// The analyses asked for.
fn chosen(asked: &[String], sample: bool) -> Result<Vec<AnalysisRef>, String> {
    let chosen: Vec<(AnalysisRef, Watching)> = if asked.is_empty() {
        known().filter(|(_, watching)| watching.is_default).collect()
    } else {
        let find = |name: &String| {
            let analysis = reweave_predict::find(name);
            analysis.and_then(|analysis| Some((analysis, analysis.watching()?))).ok_or_else(|| {
                let there: Vec<&str> = known().map(|(analysis, _)| analysis.id().name()).collect();
                match analysis.is_some() {
                    true => format!(
                        "`{name}` needs a recorded trace: use `reweave predict`, or choose from {}",
                        there.join(", ")
                    ),
                    false => format!("there is no analysis `{name}`: choose from {}", there.join(", ")),
                }
            })
        };
        asked.iter().map(find).collect::<Result<_, _>>()?
    };
    match chosen.iter().find(|(_, watching)| sample && !watching.allows_sampling) {
        Some((analysis, _)) => {
            Err(format!("`{}` needs every access: leave it out, or watch without --sample", analysis.id()))
        }
        None => Ok(chosen.into_iter().map(|(analysis, _)| analysis).collect()),
    }
}

pub fn run(args: Args) -> i32 {
    let sampled = args.sample.is_some();
    let analyses = match chosen(&args.analysis, sampled) {
        Ok(analyses) => analyses,
        Err(why) => {
            eprintln!("reweave: {why}");
            return exit::USAGE;
        }
    };
    // Found out before the program runs for hours.
    if let Some(path) = &args.json
        && let Err(source) = fs::write(path, "")
    {
        return output::fail(&Error::Output { action: "write", path: path.clone(), source });
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    if reweave_spmd::host::is_spmd(&args.command, &cwd) {
        if let Some(code) = args.freedom.refused() {
            return code;
        }
        return match args.looking.look(args.sample) {
            Ok(look) => {
                let memory = args.max_memory.unwrap_or(RANK_MEMORY);
                crate::ranks::watch(&args.command, memory, &look, args.json.as_deref())
            }
            Err(why) => {
                eprintln!("reweave: {why}");
                exit::USAGE
            }
        };
    }
    if let Some(code) = args.looking.refused() {
        return code;
    }
    let mut options = Options::watched(FRONT_ENDS, args.command);
    args.scheduling.apply(&mut options);
    args.leaving_out.apply(&mut options);
    options.free = args.freedom.free;
    // Slices that somebody asked for are as long as that.
    options.quiet_slices = if args.scheduling.quantum == QUANTUM { QUIET_SLICES } else { 0 };
    let plan = Plan {
        options: live::Options { analyses, sample: sampled, check: args.check, every_access: args.every_access },
        max_memory: args.max_memory.unwrap_or(MAX_MEMORY),
    };
    // It is told once and kept nowhere: in full.
    let style = Style::for_stderr().with_detail(text::Detail::Full);
    let watched = watch::watch(options, plan, &mut |news| {
        let mut out = io::stderr().lock();
        // Nobody may be there to read it; the program matters more.
        let _ = match news {
            WatchEvent::NewFinding(item) => text::write_item(item, style, &mut out).and_then(|()| writeln!(out)),
            WatchEvent::Slowed => {
                writeln!(out, "reweave: the analysis is slower than the program, which waits for it: no event is lost")
            }
            WatchEvent::Forgot => writeln!(
                out,
                "reweave: memory is at its limit: what was seen so far is forgotten (--max-memory allows more)"
            ),
        };
    });
    let watched = match watched {
        Ok(watched) => watched,
        Err(error) => return output::fail(&error),
    };
    summary(&watched, args.check);
    if let Some(path) = args.json
        && let Err(source) = fs::write(&path, watched.report.to_json())
    {
        output::fail(&Error::Output { action: "write", path, source });
    }
    let status = exit::of_program(watched.run.status);
    // Not dropped: a Ctrl-C in this last moment would be how we end, in place of the program's own status.
    std::mem::forget(watched);
    status
}

fn summary(watched: &Watched, checked: bool) {
    let Watched { run, report, totals, stalls, unreported, alike, peak_memory, .. } = watched;
    output::run_warnings(run);
    let seconds = run.took.as_secs_f64().max(1e-9);
    eprintln!(
        "reweave: watched {} events of {} threads in {} for {seconds:.1} s: {:.1} million events/s, at most {}",
        grouped(totals.events),
        grouped(totals.threads),
        output::counted(run.processes.len() as u64, "process", "processes"),
        totals.events as f64 / seconds / 1e6,
        human_size(*peak_memory),
    );
    // The last one, if it went on as another program.
    if let Some(process) = run.processes.iter().rfind(|process| process.is_root)
        && let Some(how) = reweave_report::describe::outcome(&process.outcome)
    {
        eprintln!("reweave: the program {how}");
    }
    if stalls.times > 0 {
        let waited = stalls.nanoseconds as f64 / 1e9;
        let share = 100.0 * waited / seconds;
        let times = output::counted(stalls.times, "time", "times");
        eprintln!(
            "reweave: the program waited {times} for the analysis, {waited:.1} s in total ({share:.0} % of the time); \
             no event was lost"
        );
    }
    let skipped = totals.skipped;
    if skipped.weaker + skipped.sampled > 0 {
        eprintln!(
            "reweave: left out {} accesses that another one covers and {} by sampling: {:.0} % of all events",
            grouped(skipped.weaker),
            grouped(skipped.sampled),
            100.0 * (skipped.weaker + skipped.sampled) as f64 / totals.events.max(1) as f64,
        );
    }
    if checked {
        eprintln!(
            "reweave: sampling lost {} of {} pairs of places that looking at everything found",
            totals.lost_pairs, totals.checked_pairs
        );
    }
    for (number, what) in [
        (totals.restarts, "times everything seen of earlier accesses was forgotten (--max-memory allows more)"),
        (
            totals.recycled_threads,
            "threads were taken for the continuation of others that ended long ago: races between them are missed",
        ),
        (totals.dropped, "accesses or pairs were beyond the limits of the analyses"),
        (totals.forgotten, "lock operations were too old, or of destroyed locks, and were not examined again"),
        (*unreported, "more findings were not reported"),
        (*alike, "more findings are about the same variables or locks (--json has them)"),
    ] {
        if number > 0 {
            eprintln!("reweave: {} {what}", grouped(number));
        }
    }
    let mut by_analysis: Vec<(&str, usize)> = Vec::new();
    for item in &report.findings {
        match by_analysis.iter_mut().find(|(name, _)| *name == item.analysis) {
            Some((_, count)) => *count += 1,
            None => by_analysis.push((&item.analysis, 1)),
        }
    }
    if let Some(why) = run.unchecked().filter(|_| by_analysis.is_empty()) {
        eprintln!("reweave: not checked: {why}");
    } else if by_analysis.is_empty() {
        eprintln!("reweave: no findings");
    } else {
        let each: Vec<String> = by_analysis.iter().map(|(name, count)| format!("{count} by {name}")).collect();
        eprintln!(
            "reweave: {} ({})",
            output::counted(report.findings.len() as u64, "potential finding", "potential findings"),
            each.join(", ")
        );
    }
}
