//! `reweave inspect`

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use reweave_launch::exit;
use reweave_model::{Addr, Event, Op, OpKind};
use reweave_report::overview::{self, Overview};
use reweave_report::{Describer, describe};
use reweave_trace::{ProcessTrace, RunSet, Trace};

use crate::output;
use crate::progress::Bar;

/// Show what is in a trace
///
/// Without options: threads, events by kind, shared locations, locks and their contention, reads that no recorded write
/// explains. With `--events`: the events themselves, with values and source lines.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave inspect reweave.rwt\n  \
    reweave inspect reweave.rwt --events --thread 1 --kind read,write\n  \
    reweave inspect reweave.rwt --events --location balance")]
pub struct Args {
    trace: PathBuf,
    /// List events
    #[arg(long)]
    events: bool,
    /// Only events of these threads
    #[arg(long, value_name = "N", value_delimiter = ',')]
    thread: Vec<u32>,
    /// Only events of these kinds (read, write, acquire, …)
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<String>,
    /// Only events that touch this variable, address (0x…) or source line (file:line)
    #[arg(long, value_name = "WHERE")]
    location: Option<String>,
    /// How many locations and locks to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

impl Args {
    fn lists_events(&self) -> bool {
        self.events || !self.thread.is_empty() || !self.kind.is_empty() || self.location.is_some()
    }
}

pub fn run(args: Args) -> i32 {
    let set = RunSet::of(&args.trace);
    let mut code = exit::CLEAN;
    // The manifest of a run stands for all its processes.
    let all = if RunSet::is_manifest(&args.trace) { set.paths().collect() } else { vec![args.trace.clone()] };
    for (number, path) in all.iter().enumerate() {
        if all.len() > 1 {
            let before = if number > 0 { "\n" } else { "" };
            let title = format!("{before}process {} of {}: {}", number + 1, all.len(), path.display());
            code = code.max(output::print(|out| writeln!(out, "{title}")));
        }
        code = code.max(show(&args, path));
    }
    if all.len() == 1 && set.processes().len() > 1 && !args.lists_events() {
        code = code.max(output::print(|out| write_processes(&set, out)));
    }
    code
}

/// One process.
fn show(args: &Args, path: &Path) -> i32 {
    let trace = match reweave_trace::open(path) {
        Ok(trace) => trace,
        Err(error) => return output::fail_trace(error),
    };
    let code = if args.lists_events() {
        output::print(|out| list(&trace, args, out))
    } else {
        let bar = Bar::new("reading", trace.event_count());
        let overview = Overview::of(&trace, |events| bar.at(events));
        bar.done();
        match overview {
            Ok(overview) => output::print(|out| overview::write(&trace, &overview, args.top, out)),
            Err(error) => return output::fail_trace(error),
        }
    };
    for damage in trace.damage() {
        eprintln!("reweave: warning: {}: {damage}", path.display());
    }
    code
}

/// Which processes the run of a trace consists of.
fn write_processes(set: &RunSet, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nprocesses  {} in this run", set.processes().len())?;
    for ProcessTrace { file, executable, pid, parent, forked, rank } in set.processes() {
        write!(out, "  {file}")?;
        // Older recordings know no more.
        if *pid != 0 {
            write!(out, "  pid {pid}, {} {parent}", if *forked { "forked from" } else { "child of" })?;
            rank.map_or(Ok(()), |rank| write!(out, ", rank {rank}"))?;
            write!(out, ": {executable}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn list(trace: &Trace, args: &Args, out: &mut dyn Write) -> io::Result<()> {
    let describer = Describer::of(trace);
    let mut events = trace.events();
    while let Some(event) = events.next().map_err(io::Error::other)? {
        if selected(&event, args, describer) {
            writeln!(out, "{}", describer.line(&event))?;
        }
    }
    Ok(())
}

fn selected(event: &Event<'_>, args: &Args, describer: Describer<'_>) -> bool {
    let kind = event.op.kind();
    (args.thread.is_empty() || args.thread.contains(&event.thread.0))
        && (args.kind.is_empty() || args.kind.iter().any(|wanted| kind.name() == wanted || is_group(kind, wanted)))
        && args.location.as_ref().is_none_or(|location| touches(event, location, describer))
}

/// `atomic` stands for all atomic accesses, and for where atomic blocks begin and end.
fn is_group(kind: OpKind, wanted: &str) -> bool {
    wanted == "atomic" && (kind.is_atomic() || matches!(kind, OpKind::AtomicEnter | OpKind::AtomicExit))
}

fn touches(event: &Event<'_>, location: &str, describer: Describer<'_>) -> bool {
    let range = match event.op {
        Op::Read { addr, size, .. } | Op::Write { addr, size, .. } | Op::Atomic { addr, size, .. } => {
            Some((addr, u64::from(size)))
        }
        Op::Alloc { addr, size } | Op::Free { addr, size } => Some((addr, size)),
        op => describe::object_of(&op).map(|object| (Addr(object.0), 1)),
    };
    if let Some(hex) = location.strip_prefix("0x") {
        let Ok(wanted) = u64::from_str_radix(hex, 16) else { return false };
        return range.is_some_and(|(addr, size)| wanted.wrapping_sub(addr.0) < size.max(1));
    }
    if let Some((file, line)) = location.rsplit_once(':')
        && let Ok(line) = line.parse::<u32>()
    {
        return describer
            .symbols
            .frames(event.pc)
            .any(|frame| frame.line == line && (frame.file == file || describe::file_name(frame.file) == file));
    }
    range.is_some_and(|(addr, _)| describer.symbols.variable(addr).is_some_and(|variable| variable.name == location))
}
