//! `reweave verify`: is it fixed? What a folder says of one build is looked for in the build that is there now.
//!
//! Each finding in turn: the schedule of the run that did it, carried over by name ([`correspond`](crate::correspond)),
//! then threads brought to the same places (active testing), then what is predicted from the new recording and from
//! other schedules, as in a test. Everything that comes of it lies in a folder of its own beside the findings.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reweave_launch::folder::PrivateFolder;
use reweave_launch::identity::{self, Rebuilt};
use reweave_launch::session::{self, Run};
use reweave_launch::target::{Output, Program};
use reweave_launch::{FrontEnds, Result, interrupt};
use reweave_model::{AnalysisId, EventId, Finding, Kind, Strength, ThreadId};
use reweave_report::place::Placed;
use reweave_report::{Describer, Item, Report};
use reweave_trace::{Trace, schedule_of};

use super::hunt::{Hunt, RunScrutiny};
use super::try_confirm::{FindingOrigin, try_confirm};
use super::{Plan, RECORDING, REPORT, Stage, StopRule, VERIFIED, folder, load_report};
use crate::budget::Bounds;
use crate::confirm::{self, Goal, divergence_text, same_program};
use crate::correspond::{Correspondence, Steps};
use crate::explore::Explored;
use crate::replay::{Recording, Repeats, base_options, happens_again, script};

#[derive(Clone, Copy, Debug)]
pub struct VerifyRequest<'a> {
    pub front_ends: FrontEnds,
    /// Instead of the recorded one.
    pub command: Option<&'a [OsString]>,
    pub budget: Duration,
    pub jobs: usize,
}

/// What became of one finding.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    Gone,
    /// As the new build shows it, and where its schedule is, if a run did it.
    StillThere {
        now: Box<Item>,
        folder: Option<PathBuf>,
    },
    /// Completes `unclear: …`.
    Undecided {
        why: String,
    },
}

impl Verdict {
    fn still_there(now: Item, folder: &Path) -> Self {
        let folder = now.schedule.is_some().then(|| folder.join(now.id.to_string()));
        Self::StillThere { now: Box::new(now), folder }
    }
}

/// What was done about one finding.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VerifyAttempts {
    /// The recorded schedule on the new build: how far it could be followed, in words.
    pub schedule: Option<String>,
    /// Runs in which threads were brought to the same places.
    pub steered: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Verified {
    /// As the folder has it.
    pub item: Item,
    pub verdict: Verdict,
    pub tried: VerifyAttempts,
}

#[derive(Debug)]
pub struct Verification {
    pub findings: Vec<Verified>,
    /// Proven of the new build, and not in the folder.
    pub new: Vec<Item>,
    /// What the folder has beside them: potential, suppressed, and mere information.
    pub left_out: usize,
    pub rebuilt: Option<Rebuilt>,
    /// Different runs that were predicted from.
    pub runs: u64,
    pub explored: Option<Explored>,
    /// Where all of it is.
    pub folder: PathBuf,
}

impl Verification {
    pub fn count(&self, is: impl Fn(&Verdict) -> bool) -> usize {
        self.findings.iter().filter(|verified| is(&verified.verdict)).count()
    }
}

/// Whether a folder is about the program that would run now.
pub fn rebuilt(front_ends: FrontEnds, folder: &Path, command: Option<&[OsString]>) -> Result<Option<Rebuilt>> {
    if !folder.join(REPORT).exists() && !folder.join(RECORDING).exists() {
        load_report(folder)?;
    }
    let trace = Trace::open(folder.join(RECORDING))?;
    let now = identity::now(front_ends, trace.meta(), command);
    Ok(Rebuilt::between(identity::of_trace(trace.meta()), now))
}

/// Looks for every proven finding of the folder in the program that is there now.
pub fn verify(folder: &Path, request: &VerifyRequest<'_>, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Verification> {
    let report = load_report(folder)?;
    let recording = Trace::open(folder.join(RECORDING))?;
    let own = folder.join(VERIFIED);
    let mut options = base_options(request.front_ends, recording.meta(), own.join(RECORDING));
    if let Some(command) = request.command {
        options.command = command.to_vec();
    }
    Program::find(options.front_ends, &options.command, &options.cwd)?;
    let mut plan = Plan::new(request.front_ends, options.command.clone(), own.clone());
    (plan.options, plan.budget, plan.jobs, plan.ends) = (options, request.budget, request.jobs, StopRule::AtDeadline);
    let rebuilt = rebuilt(request.front_ends, folder, request.command)?;
    let _guard = interrupt::Guard::around();
    let taken = folder::prepare(&own)?;
    let hunt = Hunt::new(&plan, Instant::now() + plan.budget, taken);
    let mut verifier = Verifier { old: folder, recording, hunt, wanted: wanted(&report), explored: None };
    let run = session::run(&session::Options {
        output: Output::File(own.join(confirm::OUTPUT)),
        ..plan.recording_options()
    })?;
    watch(Stage::Recorded(&run));
    let unseen = run.unchecked();
    // Of one that does not end, what was seen is seen.
    if unseen.is_none() || run.timed_out && run.shortcoming().is_none() {
        verifier.look(&run, rebuilt.is_some(), watch)?;
    }
    let left_out = report.findings.len() - verifier.wanted.len();
    verifier.verdicts(unseen, left_out, rebuilt, own)
}

/// What is to be looked for.
fn wanted(report: &Report) -> Vec<FindingToVerify> {
    let meant = |item: &&Item| item.is_proven() && !item.is_information() && item.suppressed.is_none();
    let wanted = |item: &Item| FindingToVerify { item: item.clone(), tried: VerifyAttempts::default(), replays: false };
    report.findings.iter().filter(meant).map(wanted).collect()
}

struct FindingToVerify {
    item: Item,
    tried: VerifyAttempts,
    /// Its own run still does it.
    replays: bool,
}

struct Verifier<'a> {
    /// The folder of the findings.
    old: &'a Path,
    recording: Trace,
    hunt: Hunt<'a>,
    wanted: Vec<FindingToVerify>,
    explored: Option<Explored>,
}

impl Verifier<'_> {
    fn look(&mut self, run: &Run, rebuilt: bool, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        self.hunt.reached = Some(HashMap::new());
        self.hunt.recorded(run, run.timed_out)?;
        let total = self.wanted.len();
        for at in 0..total {
            watch(Stage::Confirming { done: at, total });
            if rebuilt {
                self.along_old_schedule(at, run, watch)?
            } else {
                self.again(at)?
            }
            if !self.is_there(at) {
                self.at_same_places(at, run)?;
            }
        }
        if self.is_decided() {
            return Ok(());
        }
        self.hunt.look_at(run, RunScrutiny::Close, watch)?;
        self.hunt.first_run_is_done();
        if !self.is_decided() {
            self.hunt.first_schedules(run, watch)?;
            self.explored = self.hunt.explore(run, watch)?;
        }
        if !self.is_decided() && !self.explored.as_ref().is_some_and(|explored| explored.complete) {
            self.hunt.alternatives(run, watch)?;
            self.hunt.other_schedules(run, watch)?;
        }
        if !self.is_decided() {
            self.hunt.catch_up(watch)?;
        }
        Ok(())
    }

    /// The new build's own finding, if it has it.
    fn found(&self, item: &Item) -> Option<Item> {
        let new = self.hunt.candidates.iter().map(super::candidate::Candidate::item);
        let mut alike: Vec<Item> = new.filter(|new| new.is_proven() && is_same_bug(item, new)).collect();
        alike.sort_by_key(|new| (new.fingerprint != item.fingerprint, std::cmp::Reverse(new.strength)));
        alike.into_iter().next()
    }

    fn is_there(&self, at: usize) -> bool {
        self.wanted[at].replays || self.found(&self.wanted[at].item).is_some()
    }

    /// There is nothing more to learn, or no time for it.
    fn is_decided(&self) -> bool {
        self.hunt.left().is_zero() || (0..self.wanted.len()).all(|at| self.is_there(at))
    }

    /// The same build: its run is replayed as it was.
    fn again(&mut self, at: usize) -> Result<()> {
        let own = self.old.join(self.wanted[at].item.id.to_string());
        if !own.join(confirm::COMMAND).exists() {
            return Ok(());
        }
        let settings = self.hunt.settings();
        let recording = Recording::open(settings.front_ends, &own)?;
        let happens = happens_again(&recording, 1, &settings, self.hunt.deadline)?;
        self.wanted[at].replays = happens == Repeats::Yes;
        self.wanted[at].tried.schedule = Some(match happens {
            Repeats::Yes => "it happens again".into(),
            Repeats::No => "the run took another path".into(),
            Repeats::Untried => "no time was left for it".into(),
        });
        Ok(())
    }

    /// The run of the old build that did it, and what it did there.
    fn old_run(&self, item: &Item) -> Result<(Trace, Vec<EventId>)> {
        let own = self.old.join(item.id.to_string());
        if let Some(goal) = Goal::load(&own.join(confirm::COMMAND))
            && let Ok(trace) = Trace::open(own.join(&goal.trace))
        {
            let events = goal.occurrence(&trace)?.map(|shown| shown.events).unwrap_or_default();
            return Ok((trace, events.into_iter().flatten().collect()));
        }
        let events = item.accesses.iter().filter_map(|access| access.event).map(EventId).collect();
        Ok((Trace::open(self.recording.path())?, events))
    }

    /// Runs the new build as the old one ran, as far as that goes, and looks at what comes of it.
    fn along_old_schedule(&mut self, at: usize, run: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let (trace, _) = self.old_run(&self.wanted[at].item)?;
        let Some((_, mut like)) = same_program(run, &trace)? else { return Ok(()) };
        let old = Steps::of(&trace)?;
        let schedule = schedule_of(&trace)?;
        let mut keep = None;
        // What the new build does under the schedule tells best where its steps are: once more with that.
        for _ in 0..2 {
            if self.hunt.left().is_zero() || self.is_there(at) {
                break;
            }
            let new = Steps::of(&like)?;
            let mapped = Correspondence::between(&old, &new).schedule(&schedule);
            let folder = PrivateFolder::new()?;
            let lengths = mapped.lengths();
            let within = |thread: ThreadId, step, source| {
                source != reweave_model::InputSource::Clock
                    && lengths.get(thread.index()).is_some_and(|length| step <= *length)
            };
            let mut options = self.hunt.plan.options.clone();
            options.trace = folder.path().join(RECORDING);
            options.output = Output::File(folder.path().join(confirm::OUTPUT));
            options.scripts = vec![script(&like, mapped, None, within)?];
            Bounds::of(run).set(&mut options, self.hunt.left());
            let again = session::run(&options)?;
            let Some((process, traced)) = same_program(&again, &like)? else { break };
            self.wanted[at].tried.schedule = Some(match &process.diverged {
                Some(divergence) => divergence_text(divergence),
                None => "it was followed to its end".into(),
            });
            self.hunt.look_at(&again, RunScrutiny::Close, watch)?;
            like = traced;
            // Until the next one is aligned with it.
            keep = Some(folder);
        }
        drop(keep);
        Ok(())
    }

    /// Brings threads of the new build to the places of the finding.
    fn at_same_places(&mut self, at: usize, run: &Run) -> Result<()> {
        let item = self.wanted[at].item.clone();
        if !matches!(item.kind, Kind::Race | Kind::Deadlock) || self.hunt.left().is_zero() {
            return Ok(());
        }
        let (trace, events) = self.old_run(&item)?;
        let Some((_, new)) = same_program(run, &trace)? else { return Ok(()) };
        let (old_steps, new_steps) = (Steps::of(&trace)?, Steps::of(&new)?);
        let both = Correspondence::between(&old_steps, &new_steps);
        let same: Option<Vec<EventId>> = events.iter().map(|event| both.event(*event)).collect();
        let Some(same) = same.filter(|same| same.len() > 1) else { return Ok(()) };
        let found = reweave_predict::accessors(&new, same.iter().copied().collect())?;
        let places: Vec<_> = same.iter().filter_map(|event| found.get(event).cloned()).collect();
        let finding = Finding::new(item.kind, Strength::Potential, AnalysisId::RECORDING, places);
        let left = self.hunt.left() / (self.wanted.len() as u32 + 1);
        let known = FindingOrigin { trace: &new, own_run: Repeats::Untried, folder: &self.hunt.plan.folder };
        let candidate = try_confirm(self.hunt.next_id(), known, &finding, &self.hunt.settings(), left)?;
        self.wanted[at].tried.steered = candidate.tries.map_or(0, |tries| tries.attempts);
        if candidate.confirmed().is_some() {
            let known = self.hunt.known(candidate.fingerprint());
            self.hunt.put(known, candidate);
        }
        Ok(())
    }

    fn verdicts(
        mut self,
        unseen: Option<String>,
        left_out: usize,
        rebuilt: Option<Rebuilt>,
        folder: PathBuf,
    ) -> Result<Verification> {
        let report = self.hunt.save()?;
        let mut findings = Vec::new();
        for FindingToVerify { item, tried, replays } in &self.wanted {
            let verdict = match self.found(item) {
                _ if *replays => Verdict::still_there(item.clone(), self.old),
                Some(now) => Verdict::still_there(now, &folder),
                None => self
                    .why_undecided(item, tried, unseen.as_deref())
                    .map_or(Verdict::Gone, |why| Verdict::Undecided { why }),
            };
            findings.push(Verified { item: item.clone(), verdict, tried: tried.clone() });
        }
        let known = |new: &Item| self.wanted.iter().any(|wanted| is_same_bug(&wanted.item, new));
        let new = report.findings.into_iter().filter(|item| item.is_proven() && !item.is_information() && !known(item));
        let new = if rebuilt.is_some() { new.collect() } else { Vec::new() };
        let runs = self.hunt.classes.len() as u64;
        Ok(Verification { findings, new, left_out, rebuilt, runs, explored: self.explored, folder })
    }

    /// Why nothing can be said of a finding that was not seen again.
    fn why_undecided(&self, item: &Item, tried: &VerifyAttempts, unseen: Option<&str>) -> Option<String> {
        if let Some(unseen) = unseen {
            return Some(unseen.to_owned());
        }
        if interrupt::asked() {
            return Some("it was interrupted".into());
        }
        let reached = self.hunt.reached.as_ref()?;
        let places: Vec<_> = item.accesses.iter().map(|access| &access.location).collect();
        let functions = places.iter().filter(|place| !place.function.is_empty());
        if let Some(missed) = functions.clone().find(|place| !reached.contains_key(&place.function)) {
            return Some(format!(
                "no run of the new build reached {} ({}): it is no longer called, or has another name",
                missed.function,
                missed.short()
            ));
        }
        let before: HashSet<u32> = item.accesses.iter().map(|access| access.thread).collect();
        let now: HashSet<ThreadId> = functions.flat_map(|place| &reached[&place.function]).copied().collect();
        if before.len() > 1 && now.len() == 1 {
            return Some("only one thread still reaches these places".into());
        }
        let over = self.hunt.left().is_zero();
        let untried = tried.schedule.is_none() && tried.steered == 0 && over;
        // A fix may only have moved it to other places: without other schedules nobody has looked there.
        let unsearched =
            over && self.hunt.schedules == 0 && !self.explored.as_ref().is_some_and(|explored| explored.complete);
        match (untried, unsearched) {
            (true, _) => Some("the time ran out before it was tried: raise it with --budget".into()),
            (_, true) => Some("the time ran out before other schedules were tried: raise it with --budget".into()),
            _ => None,
        }
    }
}

/// The same finding, or one of the same kind in the same functions: a fix may have changed the lines.
fn is_same_bug(old: &Item, new: &Item) -> bool {
    let functions = |item: &Item| {
        let mut all: Vec<String> = item.accesses.iter().map(|access| access.location.function.clone()).collect();
        all.sort();
        all.dedup();
        all
    };
    let same_variable = match (&old.facts.variable, &new.facts.variable) {
        // An address is another one in every build.
        (Some(one), Some(two)) => one == two || one.starts_with("0x") || two.starts_with("0x"),
        _ => true,
    };
    // A program may fail in several ways.
    let same_end = old.kind != Kind::Failure || old.harm == new.harm;
    old.fingerprint == new.fingerprint
        || old.kind == new.kind && functions(old) == functions(new) && same_variable && same_end
}

/// The functions that each thread of a run came to.
pub fn reached(trace: &Trace, into: &mut HashMap<String, HashSet<ThreadId>>) -> Result<()> {
    let describer = Describer::of(trace);
    let mut seen = HashSet::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.op.is_step() && event.pc.0 != 0 && seen.insert((event.thread, event.pc)) {
            let placed = Placed::new(event.pc, std::iter::empty(), describer);
            for frame in placed.through.iter().chain([&placed.at]).chain(&placed.stack) {
                into.entry(frame.function.clone()).or_default().insert(event.thread);
            }
        }
    }
    Ok(())
}
