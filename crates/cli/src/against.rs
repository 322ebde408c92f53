//! What was said without running a program, held against its runs: what a run did and the analysis excludes is a hole.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use reweave_hunt::pipeline;
use reweave_launch::Error;
use reweave_model::{Kind, Op, Pc, Strength};
use reweave_report::data::Location;
use reweave_report::{Report, describe};
use reweave_statics::expected::{Expected, Line};
use reweave_trace::{RunSet, Trace};

/// What came of a comparison.
#[derive(Default, Debug)]
pub struct Compared {
    /// Reads of runs that were looked at.
    pub reads: u64,
    pub findings: usize,
    /// What the analysis excludes, and what happened, in words.
    pub holes: BTreeSet<String>,
}

/// Compares with a trace, or with the folder of a test: its recording and its findings.
pub fn compare(expected: &Expected, path: &Path) -> Result<Compared, Error> {
    let mut compared = Compared::default();
    let recording = if path.is_dir() {
        findings(expected, &pipeline::load_report(path)?, &mut compared);
        path.join(pipeline::RECORDING)
    } else {
        path.to_owned()
    };
    let set = RunSet::of(&recording);
    let all = if RunSet::is_manifest(&recording) { set.paths().collect() } else { vec![recording] };
    for path in all {
        reads(expected, &reweave_trace::open(&path)?, &mut compared)?;
    }
    Ok(compared)
}

fn line(at: &Location) -> Line {
    (describe::file_name(&at.file).to_owned(), at.line)
}

fn shown(line: &Line) -> String {
    format!("{}:{}", line.0, line.1)
}

/// Every finding that a run shows must be one that the analysis allows.
fn findings(expected: &Expected, report: &Report, compared: &mut Compared) {
    let real = report.findings.iter().filter(|item| item.strength != Strength::Potential);
    for item in real {
        let lines: Vec<Line> = item.accesses.iter().map(|access| line(&access.location)).collect();
        if expected.blind || lines.is_empty() || !lines.iter().all(|line| expected.is_of_program(line)) {
            continue;
        }
        let all_in = |known: &BTreeSet<Line>| lines.iter().all(|one| known.contains(one));
        let allowed = match item.kind {
            Kind::Nondeterminism => {
                lines.iter().any(|line| expected.doubtful.contains(line)) || expected.same_valued.iter().any(all_in)
            }
            Kind::Race => expected.doubtful_locations.iter().any(all_in),
            _ => continue,
        };
        compared.findings += 1;
        if !allowed {
            let places: Vec<String> = lines.iter().map(shown).collect();
            let kind = item.kind.name();
            compared.holes.insert(format!("proved, but a {kind} was found at {}", places.join(" and ")));
        }
    }
}

/// Every read of a run must see a write that it may see.
fn reads(expected: &Expected, trace: &Trace, compared: &mut Compared) -> Result<(), Error> {
    let mut places: HashMap<Pc, Option<Line>> = HashMap::new();
    let mut written: HashMap<u64, Option<Line>> = HashMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        let (addr, size, reads, writes) = match event.op {
            Op::Read { addr, size, .. } => (addr, size, true, false),
            Op::Write { addr, size, .. } => (addr, size, false, true),
            Op::Atomic { addr, size, .. } => (addr, size, false, true),
            Op::Alloc { addr, size } | Op::Free { addr, size } => {
                written.retain(|at, _| at.wrapping_sub(addr.0) >= size);
                continue;
            }
            _ => continue,
        };
        let place = places.entry(event.pc).or_insert_with(|| {
            let place = trace.symbols().place(event.pc);
            let line = (describe::file_name(&place.file).to_owned(), place.line);
            expected.is_of_program(&line).then_some(line)
        });
        if let (true, Some(own)) = (reads, &*place) {
            compared.reads += 1;
            look(expected, own, written.get(&addr.0), compared);
        }
        if writes {
            // Parts of it are another's no longer.
            (1..u64::from(size)).for_each(|part| drop(written.remove(&(addr.0 + part))));
            written.insert(addr.0, place.clone());
        }
    }
    Ok(())
}

fn look(expected: &Expected, own: &Line, source: Option<&Option<Line>>, compared: &mut Compared) {
    if expected.blind || expected.unknown.contains(own) {
        return;
    }
    if !expected.reads.contains(own) {
        compared.holes.insert(format!("no read is known at {}, but there is one", shown(own)));
        return;
    }
    if let Some(Some(source)) = source
        && !expected.flows.contains(&(own.clone(), source.clone()))
    {
        let what = format!("the read at {} cannot see the write at {}, but it did", shown(own), shown(source));
        compared.holes.insert(what);
    }
}
