//! `reweave test`: record, predict, confirm, report. Everything ends up in one folder:
//!
//! ```text
//! reweave-out/report.json      what was found
//! reweave-out/recording.rwt    the recorded run
//! reweave-out/1/               a finding: trace.rwt, schedule.rws, command.json, output.txt
//! ```

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reweave_model::{Accessor, BlockedOn, EventId, Finding, Kind, ObjectId, Op, Strength, ThreadId};
use reweave_predict::Limits;
use reweave_report::{Describer, Item, Report, data, describe, resolve};
use reweave_trace::{Outcome, Trace, schedule_of};

use crate::classes::{Class, class_of};
use crate::confirm::{self, Confirmation, Goal, Plain};
use crate::folder::{PrivateFolder, beside};
use crate::region::Policy;
use crate::replay::{command_of, is_failure};
use crate::session::{self, Options, Run};
use crate::target::{Input, Output};
use crate::{Error, Result};

pub const REPORT: &str = "report.json";
pub const RECORDING: &str = "recording.rwt";
/// For one finding.
const MINIMISING: Duration = Duration::from_secs(5);
/// Further schedules that are tried, and how many in a row may show nothing new.
const SCHEDULES: u64 = 60;
const IDLE: u32 = 15;
/// Numbers that mean nothing if those of several traces are added up.
const PER_TRACE: [&str; 2] = ["windows", "cut_short"];

#[derive(Clone, Debug)]
pub struct Plan {
    pub options: Options,
    pub folder: PathBuf,
    /// Wall time for everything; a run that has begun is let finish.
    pub budget: Duration,
    /// Functions that are to be atomic.
    pub atomic: Vec<String>,
}

impl Plan {
    pub fn new(command: Vec<OsString>, folder: PathBuf) -> Self {
        let options = Options::new(command, folder.join(RECORDING));
        Self { options, folder, budget: Duration::from_secs(60), atomic: Vec::new() }
    }
}

pub struct Tested {
    pub report: Report,
    pub run: Run,
}

/// What the pipeline is doing, for somebody who watches.
pub enum Stage<'a> {
    Recorded(&'a Run),
    /// From 0 to 1.
    Predicting(f64),
    Confirming {
        done: usize,
        total: usize,
    },
    /// No further schedules, because of this.
    Stopped(&'a Error),
    /// Other schedules.
    Trying {
        done: usize,
        total: usize,
    },
}

pub fn test(plan: &Plan, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Tested> {
    prepare_folder(&plan.folder)?;
    let mut hunt = Hunt {
        plan,
        deadline: Instant::now() + plan.budget,
        items: Vec::new(),
        stats: BTreeMap::from([("unknown_pairs".to_owned(), 0)]),
        classes: HashSet::new(),
        limit: None,
    };
    let run = session::run(&plan.options)?;
    watch(Stage::Recorded(&run));
    hunt.limit = Some((run.took * 20).max(Duration::from_secs(10)));
    // Half of the time for the first run: what it shows is surest.
    hunt.look_at(&run, watch)?;
    if run.processes.iter().any(|process| process.instrumented)
        && let Err(error) = hunt.other_schedules(&run, watch)
    {
        // What is known by then is worth more than nothing.
        watch(Stage::Stopped(&error));
    }
    // The strongest first; ids are folder names already and stay.
    hunt.items.sort_by_key(|item| (rank(item), item.id));
    let report = Report {
        reweave: env!("CARGO_PKG_VERSION").into(),
        schema: data::SCHEMA,
        program: plan.options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        findings: hunt.items,
        stats: hunt.stats,
        baseline: None,
    };
    save_report(&report, &plan.folder)?;
    Ok(Tested { report, run })
}

/// A test under way.
struct Hunt<'p> {
    plan: &'p Plan,
    deadline: Instant,
    items: Vec<Item>,
    stats: BTreeMap<String, u64>,
    /// What runs did so far.
    classes: HashSet<Class>,
    /// For one run.
    limit: Option<Duration>,
}

impl Hunt<'_> {
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Predicts from the traces of a run and confirms what is new. Says whether it did something no run did before.
    fn look_at(&mut self, run: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<bool> {
        let mut new = false;
        for process in &run.processes {
            let trace = Trace::open(&process.path)?;
            if !self.classes.insert(class_of(&trace)?) {
                continue;
            }
            new = true;
            *self.stats.entry("events".into()).or_default() += process.events;
            if is_failure(&process.outcome) {
                let item = failure(self.next_id(), &trace, &process.outcome, &self.plan.folder)?;
                let known = self.items.iter().any(|known| known.fingerprint == item.fingerprint);
                if known {
                    let _ = fs::remove_dir_all(self.plan.folder.join(item.id.to_string()));
                } else {
                    self.items.push(item);
                }
            }
            let answer = predict(&trace, Instant::now() + self.left() / 2, &self.plan.atomic, watch)?;
            *self.stats.entry("unknown_pairs".into()).or_default() += answer.unknown_pairs;
            for (key, value) in answer.stats {
                let sum = self.stats.entry(key.clone()).or_default();
                // Of one trace, or of none.
                *sum = if PER_TRACE.contains(&key.as_str()) { value.max(*sum) } else { *sum + value };
            }
            let findings = answer.findings;
            for (done, finding) in findings.iter().enumerate() {
                watch(Stage::Confirming { done, total: findings.len() });
                // The same bug in another process or run is no other bug.
                let fingerprint = resolve::item(0, finding, &trace).fingerprint;
                let known = self.items.iter().position(|item| item.fingerprint == fingerprint);
                if known.is_some_and(|known| self.items[known].schedule.is_some()) {
                    continue;
                }
                let id = known.map_or_else(|| self.next_id(), |known| self.items[known].id);
                let plain = Plain { command: None, limit: self.limit };
                let item = settle(id, &trace, finding, &self.plan.folder, &plain, self.left())?;
                match known {
                    None => self.items.push(item),
                    Some(known) if rank(&item) < rank(&self.items[known]) => self.items[known] = item,
                    Some(_) => {}
                }
            }
        }
        Ok(new)
    }

    /// Ids are folder names: none is given twice.
    fn next_id(&self) -> u32 {
        self.items.iter().map(|item| item.id).max().unwrap_or(0) + 1
    }

    /// Runs the program under other schedules: code that the first run did not reach is not looked at otherwise.
    fn other_schedules(&mut self, first: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let until = Instant::now() + self.left() / 2;
        let length = first.processes.iter().map(|process| process.events).max().unwrap_or(0).max(10);
        let mut idle = 0;
        for number in 1..=SCHEDULES {
            if idle >= IDLE || Instant::now() + first.took >= until {
                break;
            }
            watch(Stage::Trying { done: number as usize - 1, total: SCHEDULES as usize });
            let folder = PrivateFolder::new()?;
            let mut options = self.plan.options.clone();
            options.trace = folder.path().join(RECORDING);
            options.seed = self.plan.options.seed.wrapping_mul(SCHEDULES).wrapping_add(number);
            options.policy = match number % 3 {
                0 => Policy::Pct { depth: 3, length },
                _ => Policy::Random,
            };
            let stdin = beside(&self.plan.options.trace, "stdin");
            options.input = if stdin.exists() { Input::File(stdin) } else { Input::Nothing };
            options.output = Output::File(folder.path().join(confirm::OUTPUT));
            options.timeout = Some(self.left().min(self.limit.unwrap_or(Duration::MAX)));
            let run = session::run(&options)?;
            idle = if self.look_at(&run, watch)? { 0 } else { idle + 1 };
            *self.stats.entry("schedules".into()).or_default() += 1;
        }
        self.stats.insert("classes".into(), self.classes.len() as u64);
        Ok(())
    }
}

fn rank(item: &Item) -> u8 {
    match item.strength.as_str() {
        "confirmed" => 0,
        "predicted" => 1,
        _ => 2,
    }
}

/// Makes the folder, or empties one of an earlier run: only what such a run makes is removed.
fn prepare_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
    let entries = fs::read_dir(folder).map_err(Error::output("read", folder))?;
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_number = !name.is_empty() && name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if is_number && (path.join(confirm::COMMAND).exists() || path.join(confirm::TRACE).exists()) {
            fs::remove_dir_all(&path).map_err(Error::output("empty", &path))?;
        }
    }
    let _ = fs::remove_file(folder.join(REPORT));
    Ok(())
}

/// The default analyses over one trace.
pub fn predict(
    trace: &Trace,
    deadline: Instant,
    atomic: &[String],
    watch: &mut dyn FnMut(Stage<'_>),
) -> Result<reweave_predict::Answer> {
    let limits = Limits { deadline: Some(deadline), ..Limits::default() };
    let options = reweave_predict::Options { limits, atomic: atomic.to_vec(), ..reweave_predict::Options::default() };
    Ok(reweave_predict::predict(trace, &options, &mut |_, done| watch(Stage::Predicting(done)))?)
}

/// The report of an earlier test.
pub fn load_report(folder: &Path) -> Result<Report> {
    let path = folder.join(REPORT);
    let text = fs::read_to_string(&path).map_err(|source| Error::NotReplayable {
        path: path.clone(),
        why: format!("{source}: name the folder of a `reweave test`"),
    })?;
    Report::from_json(&text).map_err(|why| Error::NotReplayable { path, why })
}

/// Analyses the recording in the folder again and tries to confirm what was not confirmed, in `command` if given.
pub fn confirm_again(folder: &Path, command: Option<&[OsString]>, budget: Duration) -> Result<Report> {
    let began = Instant::now();
    let mut report = load_report(folder)?;
    let trace = Trace::open(folder.join(RECORDING))?;
    for finding in predict(&trace, began + budget / 2, &[], &mut |_| {})?.findings {
        let fresh = resolve::item(0, &finding, &trace);
        let known = report.findings.iter().position(|item| item.fingerprint == fresh.fingerprint);
        // Another program than the recorded one has to show it itself.
        if command.is_none() && known.is_some_and(|i| report.findings[i].strength == "confirmed") {
            continue;
        }
        let next = report.findings.iter().map(|item| item.id).max().unwrap_or(0) + 1;
        let id = known.map_or(next, |i| report.findings[i].id);
        let plain = Plain { command, limit: None };
        let item = settle(id, &trace, &finding, folder, &plain, budget.saturating_sub(began.elapsed()))?;
        match known {
            Some(i) => report.findings[i] = item,
            None => report.findings.push(item),
        }
    }
    report.findings.sort_by_key(|item| (rank(item), item.id));
    save_report(&report, folder)?;
    Ok(report)
}

/// Writes the report into the folder of its test.
pub fn save_report(report: &Report, folder: &Path) -> Result<()> {
    let path = folder.join(REPORT);
    fs::write(&path, report.to_json()).map_err(Error::output("write", &path))
}

/// Tries to confirm one finding and makes an item of it.
fn settle(id: u32, trace: &Trace, finding: &Finding, folder: &Path, plain: &Plain<'_>, left: Duration) -> Result<Item> {
    if finding.strength == Strength::Confirmed {
        // The recorded run did it.
        let outcome = trace.footer().map(|footer| footer.outcome.clone()).unwrap_or_default();
        return recorded(id, trace, finding, &outcome, folder);
    }
    let mut item = resolve::item(id, finding, trace);
    if left.is_zero() {
        item.why_unconfirmed = Some("the time was used up: raise it with --budget".into());
        return Ok(item);
    }
    let own = folder.join(id.to_string());
    let deadline = Instant::now() + left;
    let (confirmation, tries) = confirm::confirm(trace, finding, &own, plain, deadline)?;
    item.tries = Some(data::Tries {
        attempts: tries.attempts,
        confirmations: tries.confirmations,
        pauses: tries.pauses,
        thrashes: tries.thrashes,
    });
    match confirmation {
        Confirmation::Confirmed { mut goal, swapped } => {
            if swapped {
                // (1) is the one that came first in the run that replay shows.
                item.accesses.reverse();
            }
            item.strength = resolve::strength_name(Strength::Confirmed).into();
            item.schedule = Some(format!("{id}/{}", confirm::SCHEDULE));
            item.outcome = Some(describe::outcome(&goal.outcome).unwrap_or_else(|| "ended normally".into()));
            let deadline = deadline.min(Instant::now() + MINIMISING);
            let minimised = confirm::minimise(&own, &mut goal, plain, deadline)?;
            item.preemptions = Some(minimised.after);
        }
        Confirmation::Unconfirmed { why } => {
            let _ = fs::remove_dir_all(&own);
            item.why_unconfirmed = Some(why);
        }
    }
    Ok(item)
}

/// A recorded run that failed is a finding: it happened, and its own schedule repeats it.
fn failure(id: u32, trace: &Trace, outcome: &Outcome, folder: &Path) -> Result<Item> {
    let finding = Finding::new(Kind::Failure, Strength::Confirmed, "recording", last_places(trace, outcome)?);
    let mut item = recorded(id, trace, &finding, outcome, folder)?;
    let text = describe::outcome(outcome).unwrap_or_default();
    let which = if trace.path().starts_with(folder) { "the recorded run" } else { "a run under another schedule" };
    item.summary = format!("{which} {text}");
    Ok(item)
}

/// What the recorded run did itself: its own schedule repeats it.
fn recorded(id: u32, trace: &Trace, finding: &Finding, outcome: &Outcome, folder: &Path) -> Result<Item> {
    let own = folder.join(id.to_string());
    fs::create_dir_all(&own).map_err(Error::output("create", &own))?;
    let copy = own.join(confirm::TRACE);
    fs::hard_link(trace.path(), &copy)
        .or_else(|_| fs::copy(trace.path(), &copy).map(drop))
        .map_err(Error::output("write", &copy))?;
    reweave_trace::schedule::save(&schedule_of(trace)?, own.join(confirm::SCHEDULE))?;
    let command = command_of(trace.meta()).iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let cwd = trace.meta().cwd.clone();
    let goal = Goal {
        kind: resolve::kind_name(finding.kind).into(),
        memory_order: false,
        block: None,
        command,
        cwd,
        accesses: Vec::new(),
        outcome: outcome.clone(),
        trace: confirm::TRACE.into(),
    };
    goal.save(&own.join(confirm::COMMAND))?;
    let mut item = resolve::item(id, finding, trace);
    item.schedule = Some(format!("{id}/{}", confirm::SCHEDULE));
    item.outcome = Some(describe::outcome(outcome).unwrap_or_else(|| "ended normally".into()));
    Ok(item)
}

/// Where a failed run ended: the fatal signal, or what each thread waits for.
pub fn last_places(trace: &Trace, outcome: &Outcome) -> Result<Vec<Accessor>> {
    let describer = Describer { symbols: trace.symbols() };
    let has_source = |pc| trace.symbols().frames(pc).next().is_some_and(|frame| frame.line != 0);
    let mut fatal = None;
    let mut waits: BTreeMap<ThreadId, Accessor> = BTreeMap::new();
    let mut held: BTreeMap<ThreadId, Vec<(ObjectId, EventId)>> = BTreeMap::new();
    let mut last_access: BTreeMap<ThreadId, Accessor> = BTreeMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        let thread = event.thread;
        let locks = held.entry(thread).or_default();
        let place = |op: String, locks: &[(ObjectId, EventId)]| Accessor {
            event: event.id,
            thread,
            pc: event.pc,
            stack: event.stack,
            op,
            locks_held: locks.iter().map(|(_, event)| *event).collect(),
        };
        let wait = |on, object| format!("wait for {}", describer.blocked_on(on, object));
        let waiting = match event.op {
            Op::Blocked { on, object } => Some(place(wait(on, object), locks)),
            Op::Wait { condition, mutex, .. } => {
                locks.retain(|(held, _)| *held != mutex);
                Some(place(wait(BlockedOn::Notify, condition), locks))
            }
            Op::BarrierArrive { barrier, .. } => Some(place(wait(BlockedOn::Barrier, barrier), locks)),
            Op::Acquire { object, .. } | Op::Woken { mutex: object, .. } => {
                locks.push((object, event.id));
                None
            }
            Op::Release { object, .. } => {
                locks.retain(|(held, _)| *held != object);
                None
            }
            Op::Fatal { number, .. } => {
                let mut at = place(describe::signal_name(number as i32), locks);
                // Where the program itself was last says more than a place in a library without source.
                if let Some(access) = last_access.get(&thread).filter(|_| !has_source(event.pc)) {
                    (at.pc, at.stack) = (access.pc, access.stack);
                }
                fatal = Some(at);
                None
            }
            op if !op.is_step() => continue,
            _ => None,
        };
        if has_source(event.pc) {
            last_access.insert(thread, place(String::new(), locks));
        }
        match waiting {
            Some(at) => waits.insert(thread, at),
            None => waits.remove(&thread),
        };
    }
    Ok(match outcome {
        Outcome::Hung => waits.into_values().collect(),
        Outcome::Signalled { .. } => fatal.into_iter().collect(),
        _ => Vec::new(),
    })
}
