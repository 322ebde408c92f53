//! `reweave test`: record, predict, confirm, report. Everything ends up in one folder:
//!
//! ```text
//! reweave-out/report.json      what was found
//! reweave-out/recording.rwt    the recorded run
//! reweave-out/1/               a finding: trace.rwt, schedule.rws, command.json, output.txt
//! reweave-out/witness-2.rws    the predicted order of a finding that no run did
//! ```

mod again;
mod alternatives;
mod items;
mod reads;
mod schedules;
mod trying;
mod usual;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reweave_model::{Finding, InputSource, Kind, Op, Strength, ThreadId};
use reweave_predict::Limits;
use reweave_report::{Item, Report, data};
use reweave_trace::{Outcome, Trace};

use crate::classes::{Class, class_of};
use crate::confirm::{self, Freed, Harm, Line, Plain, Stood, Usual};
use crate::explore::{self, Explored};
use crate::names::{Code, Names};
use crate::replay::{Recording, is_failure};
pub use again::{Again, confirm_again};
use items::{endless, failed_as_recorded, failure, freed_memory, mark, minimise, recorded, replays};
pub use reweave_launch::folder::RECORDING;
use reweave_launch::interrupt;
use reweave_launch::session::{self, Bounds, Options, Run};
use reweave_launch::target::Program;
use reweave_launch::{Error, FrontEnds, Result};
use trying::thin_out;
use usual::usual;

pub const REPORT: &str = "report.json";
/// Begins the name of a file with the predicted order of a finding that no run did.
const WITNESS: &str = "witness-";
/// The run of a concurrent breakpoint.
pub const BREAKPOINT: &str = "breakpoint";
/// Classes of executions that are all predicted from; of others only those that come to something new.
const CLOSELY: usize = 64;
/// For exploration, unless it is asked for.
const EXPLORING: Duration = Duration::from_secs(15);
/// Events that are recorded at first, for every millisecond of the budget: each pass over so many takes some hundredths of it.
const READABLE: u64 = 500;
/// Events of a program that does not end that are looked at, for every millisecond there is.
const ENDLESS: u64 = 100;
/// For predicting from a run that is not the first, whatever it has cost to run the program so far.
const GLANCE: Duration = Duration::from_millis(30);
/// Numbers that mean nothing if those of several traces are added up: what was not settled in one run is what was not in another.
const PER_TRACE: [&str; 6] =
    ["windows", "cut_short", "unknown_pairs", "unknown_deadlocks", "stalls_not_looked_for", "atomicity_unknown"];

#[derive(Clone, Debug)]
pub struct Plan {
    pub options: Options,
    pub folder: PathBuf,
    /// Wall time for everything; a run that has begun is let finish.
    pub budget: Duration,
    /// Functions that are to be atomic.
    pub atomic: Vec<String>,
    /// All the time that is left goes to exploration, not only a share.
    pub explore: bool,
    /// Runs at a time, once the program is recorded.
    pub jobs: usize,
    /// … also of a program that deals with files, sockets or other processes, where runs can get into each other's way.
    pub jobs_asked_for: bool,
}

impl Plan {
    pub fn new(front_ends: FrontEnds, command: Vec<OsString>, folder: PathBuf) -> Self {
        let options = Options::new(front_ends, command, folder.join(RECORDING));
        Self {
            options,
            folder,
            budget: Duration::from_secs(60),
            atomic: Vec::new(),
            explore: false,
            jobs: 1,
            jobs_asked_for: false,
        }
    }
}

pub struct Tested {
    pub report: Report,
    pub run: Run,
    /// How far exploration came, if it was begun.
    pub explored: Option<Explored>,
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
        done: Duration,
        total: Duration,
    },
    Exploring(&'a Explored),
    /// A run did it, or had done it already.
    Found(&'a Item),
}

pub fn test(plan: &Plan, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Tested> {
    // A program that is not there must not cost the findings of an earlier test.
    Program::find(plan.options.front_ends, &plan.options.command, &plan.options.cwd)?;
    let taken = prepare_folder(&plan.folder)?;
    let _guard = interrupt::Guard::around();
    let end = Instant::now() + plan.budget;
    let mut hunt = Hunt {
        plan,
        deadline: Instant::now() + reads::without_reads(plan.budget),
        items: Vec::new(),
        stats: BTreeMap::from([("unknown_pairs".to_owned(), 0)]),
        classes: HashSet::new(),
        code: HashSet::new(),
        bounds: None,
        usual: None,
        ended_by_hand: false,
        taken,
        tried: HashMap::new(),
        schedules: 0,
        glance: GLANCE,
        others: None,
        jobs: plan.jobs,
    };
    // A program that does not end by itself is looked at as far as it came, and no further than it can be read.
    let most = (plan.budget.as_millis() as u64).saturating_mul(READABLE);
    let options = Options {
        timeout: Some(plan.options.timeout.unwrap_or(plan.budget / 4)),
        max_events: plan.options.max_events.min(most),
        ..plan.options.clone()
    };
    let run = session::run(&options)?;
    // A Ctrl-C until here was for the program; from here on it ends the search, and what is known by then is told.
    hunt.ended_by_hand = interrupt::asked() || run.timed_out;
    interrupt::forget();
    watch(Stage::Recorded(&run));
    hunt.bounds = Some(Bounds::of(&run));
    if plan.jobs > 1 && !plan.jobs_asked_for && meets_others(&run)? {
        hunt.jobs = 1;
    }
    if run.timed_out {
        hunt.usual = Some(None);
    }
    // Half of the time for the first run: what it shows is surest.
    hunt.look_at(&run, Look::Closely, watch)?;
    hunt.ended_by_hand = false;
    hunt.others = Some((Instant::now(), Duration::ZERO));
    let mut explored = None;
    if run.processes.iter().any(|process| process.instrumented) {
        // What is known by then is worth more than nothing.
        if let Err(error) = hunt.glimpses(&run, watch) {
            watch(Stage::Stopped(&error));
        }
        match hunt.explore(&run, watch) {
            Ok(done) => explored = done,
            Err(error) => watch(Stage::Stopped(&error)),
        }
        if !explored.as_ref().is_some_and(|explored| explored.complete)
            && let Err(error) = hunt.alternatives(&run, watch).and_then(|()| hunt.other_schedules(&run, watch))
        {
            watch(Stage::Stopped(&error));
        }
        if !run.timed_out
            && let Err(error) = hunt.reads(&run, end, watch)
        {
            watch(Stage::Stopped(&error));
        }
    }
    Ok(Tested { report: hunt.save()?, run, explored })
}

/// A test under way.
struct Hunt<'p> {
    plan: &'p Plan,
    deadline: Instant,
    items: Vec<Item>,
    stats: BTreeMap<String, u64>,
    /// What runs did so far, and where they came.
    classes: HashSet<Class>,
    code: HashSet<(ThreadId, Code)>,
    /// For one run.
    bounds: Option<Bounds>,
    /// Folders up to this number may be somebody else's.
    taken: u32,
    /// The recorded run did not end by itself.
    ended_by_hand: bool,
    /// What the recorded run printed; `Some(None)`: nobody knows.
    usual: Option<Option<Usual>>,
    /// How many runs made us try each finding, by fingerprint.
    tried: HashMap<String, u32>,
    /// For predicting from a run that is not the first, at least.
    glance: Duration,
    /// Other schedules that were tried.
    schedules: u64,
    /// When the recorded run had been looked at, and how much of the time since then went into looking at others.
    others: Option<(Instant, Duration)>,
    /// Runs at a time.
    jobs: usize,
}

impl Hunt<'_> {
    fn left(&self) -> Duration {
        left(self.deadline)
    }

    /// Writes down what is known: whoever ends the test by force finds it.
    fn save(&mut self) -> Result<Report> {
        // The strongest first; ids are folder names already and stay.
        self.items.sort_by_key(|item| (rank(item), item.id));
        let report = Report {
            reweave: env!("CARGO_PKG_VERSION").into(),
            schema: data::SCHEMA,
            program: self.plan.options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            findings: self.items.clone(),
            stats: self.stats.clone(),
            baseline: None,
        };
        save_report(&report, &self.plan.folder)?;
        Ok(report)
    }

    /// Half of what is left for the recorded run; for all others together as much as running them took, so that neither starves.
    fn time_to_look(&self, least: Duration) -> Duration {
        let most = self.left() / 2;
        match self.others {
            None => most,
            Some((since, looking)) => since.elapsed().saturating_sub(looking * 2).max(least).min(most),
        }
    }

    /// Predicts from the traces of a run and confirms what is new. Says whether it did something no run did before.
    fn look_at(&mut self, run: &Run, look: Look, watch: &mut dyn FnMut(Stage<'_>)) -> Result<bool> {
        let known = |items: &[Item]| (items.len(), items.iter().filter(|item| item.schedule.is_some()).count());
        let before = known(&self.items);
        let new = self.judge(run, look, watch)?;
        if known(&self.items) != before {
            self.save()?;
        }
        Ok(new)
    }

    fn judge(&mut self, run: &Run, look: Look, watch: &mut dyn FnMut(Stage<'_>)) -> Result<bool> {
        let mut new = false;
        // It may have been ended by that.
        if interrupt::asked() {
            return Ok(false);
        }
        if run.timed_out {
            self.spins(run, watch)?;
            // Others than the first do not get better by getting longer.
            if !self.ended_by_hand {
                return Ok(false);
            }
        }
        for process in &run.processes {
            let mut trace = Trace::open(&process.path)?;
            if run.timed_out {
                // It can be very long, and does the same again and again.
                trace.cut_to((self.left().as_millis() as u64).saturating_mul(ENDLESS));
            }
            let freed = if run.timed_out { None } else { Freed::of(&trace)? };
            if let Some(freed) = freed {
                let finding = freed_memory(&trace, freed)?;
                let mut item = recorded(self.next_id(), &trace, &finding, &process.outcome, &self.plan.folder)?;
                item.summary = format!("the program {}", freed.text());
                self.keep(item, Ended::ByItself, watch)?;
            }
            if !run.timed_out && !self.classes.insert(class_of(&trace)?) && look != Look::Again {
                continue;
            }
            new = true;
            let known = self.code.len();
            if !run.timed_out {
                self.code.extend(code_of(&trace)?);
            }
            // One that we ended ourselves shows nothing.
            // A status that the program itself makes nothing of (a child's, say) is none of ours.
            let handled = matches!(process.outcome, Outcome::Exited { .. }) && run.status.success();
            let failed = is_failure(&process.outcome) && !handled && !run.timed_out && !self.ended_by_hand;
            if look == Look::Quickly && known == self.code.len() && !failed {
                continue;
            }
            *self.stats.entry("events".into()).or_default() += process.events;
            let mut failure_of_this = None;
            // libc ends a program that frees twice, sooner or later: that is told with both places.
            let follows =
                freed.is_some_and(|freed| freed.twice) && matches!(process.outcome, Outcome::Signalled { .. });
            if failed && !follows {
                let item = failure(self.next_id(), &trace, &process.outcome, &self.plan.folder)?;
                failure_of_this = Some(item.fingerprint.clone());
                self.keep(item, Ended::ByItself, watch)?;
            }
            let began = Instant::now();
            let answer = predict(&trace, began + self.time_to_look(self.glance) * 2 / 3, &self.plan.atomic, watch)?;
            let unknown = ("unknown_pairs".to_owned(), answer.unknown_pairs);
            for (key, value) in answer.stats.into_iter().chain([unknown]) {
                let sum = self.stats.entry(key.clone()).or_default();
                // Of one trace, or of none.
                *sum = if PER_TRACE.contains(&key.as_str()) { value.max(*sum) } else { *sum + value };
            }
            let mut findings = answer.findings;
            // Told already, with both places.
            let told = |finding: &Finding| freed.is_some_and(|freed| finding.accesses[0].event == freed.used);
            findings.retain(|finding| finding.kind != Kind::Misuse || !told(finding));
            let left_out = thin_out(&mut findings);
            *self.stats.entry("left_out".into()).or_default() += left_out;
            if !findings.is_empty() && self.usual.is_none() {
                self.usual = Some(usual(self.plan, self.jobs, self.left() / 20));
            }
            self.confirm(&trace, &findings, watch)?;
            if let Some((_, looking)) = &mut self.others {
                *looking += began.elapsed();
            }
            let deadlock =
                |finding: &Finding| finding.kind == Kind::Deadlock && finding.strength == Strength::Confirmed;
            if let Some(failure) = failure_of_this {
                if findings.iter().any(deadlock) {
                    self.told_as_deadlock(&failure);
                }
                let hung =
                    |item: &&Item| item.fingerprint == failure && item.harm.as_deref() == Some(Harm::Hang.name());
                self.items
                    .iter()
                    .filter(hung)
                    .filter(|item| item.schedule.is_some())
                    .for_each(|item| watch(Stage::Found(item)));
            }
        }
        Ok(new)
    }

    /// A run that had to be ended: do its threads wait for each other in loops?
    fn spins(&mut self, run: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let [process] = &run.processes[..] else { return Ok(()) };
        let trace = Trace::open(&process.path)?;
        let Some(places) = confirm::spinning(&trace)? else { return Ok(()) };
        let item = endless(self.next_id(), &trace, places, &self.plan.folder)?;
        self.keep(item, Ended::ByUs, watch)
    }

    /// A run that hung need not be told of twice: who waits for what stands with the deadlock.
    fn told_as_deadlock(&mut self, failure: &str) {
        let told = |item: &Item| item.fingerprint == failure && item.harm.as_deref() == Some(Harm::Hang.name());
        if let Some(at) = self.items.iter().position(told) {
            let gone = self.items.remove(at);
            let _ = fs::remove_dir_all(self.plan.folder.join(gone.id.to_string()));
        }
    }

    /// What a run did is kept unless it is known. One that hung is announced later: it may be told as a deadlock yet.
    fn keep(&mut self, mut item: Item, ended: Ended, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let own = self.plan.folder.join(item.id.to_string());
        let known = self.items.iter().position(|known| known.fingerprint == item.fingerprint);
        if known.is_some_and(|known| self.items[known].schedule.is_some()) {
            let _ = fs::remove_dir_all(own);
            return Ok(());
        }
        let plain = Plain {
            front_ends: self.plan.options.front_ends,
            command: None,
            bounds: self.bounds,
            usual: None,
            isolate: self.plan.options.isolate,
            share: None,
        };
        if ended == Ended::ByItself {
            minimise(&mut item, &own, &plain, Instant::now() + self.left() / 8)?;
        }
        mark(&mut item, replays(&Recording::open(plain.front_ends, &own)?, &plain, Instant::now() + self.left() / 8)?);
        let announced = item.harm.as_deref() != Some(Harm::Hang.name()) || ended == Ended::ByUs;
        if announced && item.schedule.is_some() {
            watch(Stage::Found(&item));
        }
        match known {
            None => self.items.push(item),
            Some(known) if rank(&item) < rank(&self.items[known]) => self.items[known] = item,
            Some(_) => drop(fs::remove_dir_all(own)),
        }
        Ok(())
    }

    /// Ids are folder names: none is given twice.
    fn next_id(&self) -> u32 {
        self.items.iter().map(|item| item.id).max().unwrap_or(0).max(self.taken) + 1
    }

    /// Explores what else the program can do, see [`explore`].
    fn explore(&mut self, first: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Option<Explored>> {
        let [process] = &first.processes[..] else { return Ok(None) };
        if !explore::is_short(process.events) || self.left().is_zero() {
            return Ok(None);
        }
        let share = if self.plan.explore { self.left() } else { (self.left() / 2).min(EXPLORING) };
        let trace = Trace::open(&process.path)?;
        let limits = explore::Limits { until: Instant::now() + share, ..self.limits_of_exploring(first) };
        let explored = explore::explore(&trace, &limits, &mut |run, explored| {
            watch(Stage::Exploring(explored));
            let Some((run, again)) = run else { return Ok(()) };
            // A race, or a use that comes too late, may be in a run that read what others read.
            let look = match again {
                true => Look::Again,
                false if self.classes.len() < CLOSELY => Look::Closely,
                false => Look::Quickly,
            };
            self.look_at(run, look, watch).map(drop)
        })?;
        self.count(&explored);
        Ok(Some(explored))
    }

    fn limits_of_exploring(&self, first: &Run) -> explore::Limits {
        explore::Limits {
            front_ends: self.plan.options.front_ends,
            until: self.deadline,
            took: first.took,
            events: Bounds::of(first).events,
            seed: self.plan.options.seed,
            jobs: self.jobs,
            isolate: self.plan.options.isolate,
        }
    }

    /// For the report.
    fn count(&mut self, explored: &Explored) {
        self.stats.insert("explored_runs".into(), explored.runs);
        self.stats.insert("explored_classes".into(), explored.classes);
        self.stats.insert("explored_states".into(), explored.states);
        self.stats.insert("explored_all".into(), explored.complete.into());
    }
}

/// Whether a run dealt with something that other runs at the same time would deal with, too: it read or wrote descriptors, or is of
/// several processes. Which of them are files and which are its own pipes is not known; it costs time, not findings.
fn meets_others(run: &Run) -> Result<bool> {
    if run.processes.len() > 1 {
        return Ok(true);
    }
    for process in &run.processes {
        let trace = Trace::open(&process.path)?;
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            if matches!(event.op, Op::Input { source: InputSource::Read | InputSource::Poll | InputSource::Other, .. })
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// None once somebody has asked to end.
fn left(deadline: Instant) -> Duration {
    if interrupt::asked() { Duration::ZERO } else { deadline.saturating_duration_since(Instant::now()) }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    ByItself,
    /// It would have gone on for ever.
    ByUs,
}

/// How much is done with a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    Closely,
    /// Even if an earlier one read the same.
    Again,
    /// Only if it failed, or a thread came to code that it came to in no run before.
    Quickly,
}

/// The places in the code that each thread of a run came to.
fn code_of(trace: &Trace) -> Result<HashSet<(ThreadId, Code)>> {
    let mut names = Names::default();
    let mut code = HashSet::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if matches!(event.op, Op::Module { .. }) {
            names.see(&event);
        }
        if event.op.is_step() && event.pc.0 != 0 {
            code.insert((event.thread, names.code(event.pc)));
        }
    }
    Ok(code)
}

/// Defects before information, then the surest first, and of those the worst; that a run failed comes behind what explains it,
/// unless the recorded one did: that takes no special schedule.
fn rank(item: &Item) -> (bool, u8, usize, bool) {
    let strength = match item.strength.as_str() {
        "confirmed" => 0,
        "predicted" => 1,
        _ => 2,
    };
    (
        item.is_information(),
        strength,
        Harm::rank(item.harm.as_deref()),
        item.kind == "failure" && !failed_as_recorded(item),
    )
}

/// Makes the folder, or empties one of an earlier run: only what such a run makes is removed. Returns the largest number that is
/// the name of something else in it.
fn prepare_folder(folder: &Path) -> Result<u32> {
    fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
    let entries = fs::read_dir(folder).map_err(Error::output("read", folder))?;
    let mut taken = 0;
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_number = !name.is_empty() && name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if is_number && path.join(confirm::COMMAND).exists() && path.join(confirm::SCHEDULE).exists() {
            fs::remove_dir_all(&path).map_err(Error::output("empty", &path))?;
        } else if let Some(number) = name.to_str().and_then(|name| name.parse().ok()) {
            taken = taken.max(number);
        } else if name.to_str().is_some_and(|name| name.starts_with(WITNESS) && name.ends_with(".rws")) {
            let _ = fs::remove_file(&path);
        }
    }
    let _ = fs::remove_file(folder.join(REPORT));
    Ok(taken)
}

/// The default analyses over one trace.
pub fn predict(
    trace: &Trace,
    deadline: Instant,
    atomic: &[String],
    watch: &mut dyn FnMut(Stage<'_>),
) -> Result<reweave_predict::Answer> {
    let limits = Limits { deadline: Some(deadline), ..Limits::default() };
    let options = reweave_predict::Options {
        limits,
        atomic: atomic.to_vec(),
        for_trial: true,
        ..reweave_predict::Options::default()
    };
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

/// Brings two threads to two lines at once, in the program of an earlier test; the run that does it is kept beside the findings.
pub fn break_at(
    front_ends: FrontEnds,
    folder: &Path,
    lines: [&Line; 2],
    command: Option<&[OsString]>,
    budget: Duration,
) -> Result<(Stood, PathBuf)> {
    let trace = Trace::open(folder.join(RECORDING))?;
    let own = folder.join(BREAKPOINT);
    let plain = Plain { front_ends, command, ..Plain::default() };
    Ok((confirm::stand_at(&trace, lines, &own, &plain, Instant::now() + budget)?, own))
}

/// Writes the report into the folder of its test.
pub fn save_report(report: &Report, folder: &Path) -> Result<()> {
    let path = folder.join(REPORT);
    fs::write(&path, report.to_json()).map_err(Error::output("write", &path))
}
