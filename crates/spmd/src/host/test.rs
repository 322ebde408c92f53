//! `reweave test` of a program of many ranks: record, judge, confirm, report; and the last three alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use reweave_launch::{Error, FrontEnds, PrivateFolder, Result, interrupt};
use reweave_model::{Harm, Strength};
use reweave_report::data::{AttemptCounts, SCHEMA};
use reweave_report::{Item, Report};
use reweave_trace::Language;

use super::Unpacked;
use super::again::{Again, values};
use super::items::{self, Common};
use super::places::Places;
use super::recording::{self, Recording, Start};
use crate::event::{Event, Logged, Logs};
use crate::hang;
use crate::logfile::Notes;
use crate::look::{Look, Owners};
use crate::offline::{self, Races};
use crate::session::{self, Confirmation, Ended, Program};

const REPORT: &str = "report.json";

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    pub front_ends: FrontEnds,
    pub command: Vec<OsString>,
    pub cwd: PathBuf,
    /// Where the report and the findings go.
    pub folder: PathBuf,
    pub budget: Duration,
    /// The standard to the letter.
    pub strict: bool,
    /// The first finding that is confirmed ends the test.
    pub fail_fast: bool,
    /// What the recorded run looks at, and whose memory is judged.
    pub look: Look,
}

pub struct Tested {
    pub report: Report,
    /// What the user should know about what was seen.
    pub notes: Vec<String>,
}

/// What is being done, for somebody who watches.
pub enum Stage<'a> {
    Recorded { ranks: usize, entries: usize },
    Confirming { done: usize, total: usize },
    Found(&'a Item),
}

/// Removes what an earlier test left in the folder: only what such a test makes.
fn empty(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
    for entry in fs::read_dir(folder).map_err(Error::output("read", folder))?.flatten() {
        let path = entry.path();
        let is_number = entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        if is_number && Again::is_in(&path) {
            fs::remove_dir_all(&path).map_err(Error::output("empty", &path))?;
        }
    }
    let _ = fs::remove_file(folder.join(REPORT));
    // Whoever reads the report must not take another program's recording for this one's.
    let _ = fs::remove_file(folder.join(reweave_launch::folder::RECORDING));
    Ok(())
}

/// Runs a test from beginning to end.
pub fn test(request: &Request, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Tested> {
    empty(&request.folder)?;
    let _guard = interrupt::Guard::around();
    let end = Instant::now() + request.budget;
    let start = Start {
        command: &request.command,
        cwd: &request.cwd,
        limit: Some(request.budget / 4),
        max_log: None,
        online: false,
        look: &request.look,
    };
    let recording = Recording::make(start, &request.folder, &Unpacked::new()?)?;
    interrupt::forget();
    settle(request, &recording, end, watch)
}

/// Analyses the recording in the folder again and tries to make what is found happen; the report is written anew.
pub fn confirm_again(request: &Request, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Tested> {
    let recording = Recording::open(&request.folder)?;
    empty(&request.folder)?;
    let _guard = interrupt::Guard::around();
    settle(request, &recording, Instant::now() + request.budget, watch)
}

/// Runs the program and keeps the logs of its ranks.
pub fn record(start: Start<'_>, folder: &Path) -> Result<Recording> {
    fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
    let _guard = interrupt::Guard::around();
    Recording::make(start, folder, &Unpacked::new()?)
}

/// What a recorded run shows, without running anything. Of ranks that judged while they ran: what they found.
pub fn predict(front_ends: FrontEnds, recording: &Recording, strict: bool, owners: &Owners) -> Tested {
    if recording.notes.online == 0 {
        let races = offline::analyse(&recording.logs, strict, owners);
        let findings = told(front_ends, &recording.logs, &recording.notes, &races);
        return tested(front_ends, recording, &races, findings);
    }
    // What lies in the logs is the end of the run, where it was cut off.
    let windows = |log: &Vec<Logged>| log.iter().filter(|logged| is_window(logged)).cloned().collect();
    let windows: Logs = recording.logs.iter().map(windows).collect();
    let races = Races::told(&recording.found, &recording.notes);
    let findings = told(front_ends, &windows, &recording.notes, &races);
    tested(front_ends, recording, &races, findings)
}

fn is_window(logged: &Logged) -> bool {
    matches!(logged.event, Event::WindowMade { .. })
}

fn tested(front_ends: FrontEnds, recording: &Recording, races: &Races, findings: Vec<(Item, usize)>) -> Tested {
    let items: Vec<Item> = findings.into_iter().map(|(item, _)| item).collect();
    let mut report = report(recording, items, races);
    if recording.ended.timed_out {
        report.unchecked = hangs(front_ends, recording).or(report.unchecked);
    }
    Tested { notes: remarks(&report, &recording.notes, recording.logs.len()), report }
}

/// Judges, confirms and reports.
fn settle(request: &Request, recording: &Recording, end: Instant, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Tested> {
    watch(Stage::Recorded { ranks: recording.logs.len(), entries: recording.entries() });
    let races = offline::analyse(&recording.logs, request.strict, &request.look.owners);
    let mut findings = told(request.front_ends, &recording.logs, &recording.notes, &races);
    // A run along a plan waits for the other rank now and then.
    let limit = (recording.took * 4 + Duration::from_secs(5)).min(request.budget / 4);
    let unpacked = Unpacked::new()?;
    let program = recording::program(&request.command, &request.cwd, &unpacked, limit);
    confirm(request, &program, &recording.logs, &races, &mut findings, end, watch)?;
    let tested = tested(request.front_ends, recording, &races, findings);
    let path = request.folder.join(REPORT);
    fs::write(&path, tested.report.to_json()).map_err(Error::output("write", &path))?;
    Ok(tested)
}

/// One item for each pair of lines, the strongest, with the number of the finding that it was made from.
fn told(front_ends: FrontEnds, logs: &Logs, notes: &Notes, races: &Races) -> Vec<(Item, usize)> {
    let sites = races.found.iter().flat_map(|found| {
        let window = Common::of(logs, found).site();
        [Some(found.a.site), Some(found.b.site), window].into_iter().flatten()
    });
    let places = Places::new(front_ends, notes, sites);
    let mut items: Vec<(Item, usize)> = Vec::new();
    for (number, (found, witness)) in races.found.iter().zip(&races.witnesses).enumerate() {
        let item = items::item(logs, found, witness.is_some(), &places);
        let key = items::key(&item);
        match items.iter_mut().find(|(known, _)| items::key(known) == key) {
            Some(known) if known.0.strength < item.strength => *known = (item, number),
            Some(_) => {}
            None => items.push((item, number)),
        }
    }
    items.sort_by_key(|(item, number)| (std::cmp::Reverse(item.strength), *number));
    for (id, (item, _)) in (1..).zip(&mut items) {
        item.id = id;
    }
    items
}

/// Tries to make each of them happen, in both orders.
fn confirm(
    request: &Request,
    program: &Program,
    logs: &Logs,
    races: &Races,
    findings: &mut [(Item, usize)],
    end: Instant,
    watch: &mut dyn FnMut(Stage<'_>),
) -> Result<()> {
    let total = findings.iter().filter(|(item, _)| item.is_proven()).count();
    for (done, (item, number)) in findings.iter_mut().filter(|(item, _)| item.is_proven()).enumerate() {
        watch(Stage::Confirming { done, total });
        if interrupt::asked() || Instant::now() > end {
            item.why_unconfirmed = Some("there was no time left".into());
            continue;
        }
        let Some(plans) = session::plans(logs, &races.found[*number]) else {
            item.why_unconfirmed = Some("such accesses cannot be steered".into());
            continue;
        };
        let folder = PrivateFolder::new()?;
        let tried = session::confirm(program, folder.path(), &plans);
        let tried = tried.map_err(|source| recording::cannot_run(&request.command, source))?;
        item.tries = Some(AttemptCounts {
            attempts: tried.orders.len() as u32,
            confirmations: tried.orders.iter().filter(|order| order.happened).count() as u32,
            ..AttemptCounts::default()
        });
        if tried.confirmed() {
            let plans = [tried.orders[0].plan, tried.orders[1].plan];
            let again = Again::new(&request.command, &request.cwd, &plans, program.limit);
            again.save(&request.folder.join(item.id.to_string()))?;
            confirmed(item, &tried);
            watch(Stage::Found(item));
            if request.fail_fast {
                break;
            }
        } else {
            let happened = tried.orders.iter().filter(|order| order.happened).count();
            item.why_unconfirmed = Some(format!("{happened} of the two orders could be made to happen"));
        }
    }
    Ok(())
}

/// What both orders showed.
fn confirmed(item: &mut Item, tried: &Confirmation) {
    item.strength = Strength::Confirmed;
    item.schedule = Some(format!("{}/orders.json", item.id));
    item.why_unconfirmed = None;
    let [one, other] = &tried.orders[..] else { return };
    let ended = |ended: &Ended| match (ended.timed_out, ended.status) {
        (true, _) => "hung".to_owned(),
        (_, 0) => "ended normally".to_owned(),
        (_, status) => format!("ended with status {status}"),
    };
    let shown = |order: &session::Ordered, forward: bool| {
        let values = values(order, forward);
        if values.is_empty() { ended(&order.ended) } else { format!("{values}, and it {}", ended(&order.ended)) }
    };
    let how = if tried.differs() { "with different results" } else { "with the same result" };
    item.outcome = Some(format!(
        "made both orders happen, {how}: with (1) first {}; with (2) first {}",
        shown(one, true),
        shown(other, false)
    ));
    item.harm = Some(match () {
        () if one.ended.timed_out || other.ended.timed_out => Harm::Hang,
        () if one.ended.status != other.ended.status => Harm::Status,
        () if tried.differs() => Harm::OtherOutput,
        () => Harm::Nothing,
    });
}

fn report(recording: &Recording, findings: Vec<Item>, races: &Races) -> Report {
    let Recording { logs, notes, ended, command, .. } = recording;
    let stats = BTreeMap::from([
        ("ranks".to_owned(), logs.len() as u64),
        ("unknown_pairs".to_owned(), 0),
        ("one-sided.entries".to_owned(), recording.entries() as u64),
        ("one-sided.accesses".to_owned(), races.accesses as u64),
        ("one-sided.given_up".to_owned(), races.given_up as u64),
        ("one-sided.ambiguous_waits".to_owned(), races.ambiguous_waits as u64),
        ("one-sided.contradictions".to_owned(), races.incomplete as u64),
        ("one-sided.dropped".to_owned(), notes.dropped),
        ("one-sided.not_understood".to_owned(), notes.not_understood.len() as u64),
    ]);
    Report {
        reweave: env!("CARGO_PKG_VERSION").into(),
        schema: SCHEMA,
        program: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        findings,
        stats,
        unchecked: unchecked(logs, races, notes, ended),
        language: Arc::new(Language::of_older_traces()),
        ..Report::default()
    }
}

/// Who waits for whom, if everybody does.
fn hangs(front_ends: FrontEnds, recording: &Recording) -> Option<String> {
    let waits = hang::waits(&recording.logs, &recording.notes.finished)?;
    let places = Places::new(front_ends, &recording.notes, waits.iter().map(|waits| waits.site));
    let told = |waits: &hang::Waits| {
        format!("rank {} waits at {} for {}", waits.rank, places.of(waits.site).short(), waits.on)
    };
    let told: Vec<String> = waits.iter().map(told).collect();
    Some(format!("the program hangs: {}", told.join("; ")))
}

/// Why no findings mean nothing.
fn unchecked(logs: &Logs, races: &Races, notes: &Notes, ended: &Ended) -> Option<String> {
    if logs.is_empty() {
        return Some(
            "no process of it called MPI_Init or shmem_init where reweave could see it: is it linked to the library \
             of ranks as a shared object, and do its ranks run on this machine?"
                .into(),
        );
    }
    if ended.timed_out {
        return Some("the program did not end in a quarter of the time there is and was ended (--budget)".into());
    }
    let cut = logs.len().saturating_sub(notes.finished.len());
    if cut > 0 {
        return Some(format!("{cut} of {} ranks did not come to MPI_Finalize or shmem_finalize", logs.len()));
    }
    if races.given_up > 0 {
        return Some("there were too many accesses to the same memory to compare all of them".into());
    }
    (notes.dropped > 0).then(|| format!("{} entries did not fit into the logs", notes.dropped))
}

/// What the user should know about what was seen.
fn remarks(report: &Report, notes: &Notes, ranks: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    if ranks > 0 && notes.instrumented == 0 && report.stats["one-sided.entries"] > 0 {
        remarks.push(
            "only calls were seen: build with `REWEAVE_CC=mpicc reweave cc` (or OMPI_CC, MPICH_CC, SHMEM_CC=reweave-cc) \
             to see loads and stores too"
                .into(),
        );
    }
    if !notes.not_understood.is_empty() {
        let names: Vec<&str> = notes.not_understood.iter().map(String::as_str).collect();
        remarks.push(format!("calls that were not understood, so that something may be missing: {}", names.join(", ")));
    }
    remarks
}
