//! A test under way: what is known so far, and how much time is left for what.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reweave_model::{Harm, InputSource, Op, ThreadId};
use reweave_report::{Report, data};
use reweave_trace::{Language, Trace};

use super::candidate::{Candidate, State};
use super::own_runs::minimise;
use super::stopping::{IdleTimer, StopReason};
use super::try_confirm::repeats;
use super::trying::Unfinished;
use super::{Plan, Stage, folder, left, save_report};
use crate::budget::{self, Bounds};
use crate::classes::Class;
use crate::confirm::{NormalBehaviour, RunSettings};
use crate::names::Code;
use crate::replay::Recording;
use reweave_launch::Result;
use reweave_launch::memory;
use reweave_launch::session::{Options, Run};

pub struct Hunt<'p> {
    pub plan: &'p Plan,
    pub deadline: Instant,
    pub candidates: Vec<Candidate>,
    pub stats: BTreeMap<String, u64>,
    /// What runs did so far, and where they came.
    pub classes: HashSet<Class>,
    pub code: HashSet<(ThreadId, Code)>,
    /// If it is asked for: the functions that runs came to, and which threads did.
    pub reached: Option<HashMap<String, HashSet<ThreadId>>>,
    /// For one run.
    pub bounds: Option<Bounds>,
    /// Folders up to this number may be somebody else's.
    taken: u32,
    /// The recorded run did not end by itself.
    pub ended_by_hand: bool,
    /// What the program does when nothing goes wrong; `Some(None)`: nobody knows.
    pub normal: Option<Option<NormalBehaviour>>,
    /// How many runs made us try each finding, by fingerprint; a race by memory order alone counts for itself.
    pub tried: HashMap<(String, bool), u32>,
    /// Runs with findings that there was no time for.
    pub unfinished: Vec<Unfinished>,
    /// For predicting from a run that is not the first, at least.
    pub least_prediction: Duration,
    /// Other schedules that were tried.
    pub schedules: u64,
    /// The last ones showed nothing new, and so no more were tried.
    pub in_vain: Option<u32>,
    /// When the recorded run had been looked at, and how much of the time since then went into looking at others.
    pub others: Option<(Instant, Duration)>,
    /// Since when it looks, and when it last found something.
    pub idle: IdleTimer,
    /// Why it ended before its time was over.
    pub ended_early: Option<StopReason>,
    /// Runs at a time.
    pub jobs: usize,
    /// Of the program, once it is recorded.
    language: Arc<Language>,
    /// Why it was not looked at, or not to its end.
    unchecked: Option<String>,
}

/// Who ended a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndedBy {
    Itself,
    /// It would have gone on for ever.
    Us,
}

/// How much is done with a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunScrutiny {
    Close,
    /// Even if an earlier one read the same.
    CloseAgain,
    /// Only if it failed, or a thread came to code that it came to in no run before.
    Quick,
}

impl<'p> Hunt<'p> {
    pub fn new(plan: &'p Plan, deadline: Instant, taken: u32) -> Self {
        Self {
            plan,
            deadline,
            candidates: Vec::new(),
            stats: BTreeMap::from([("unknown_pairs".to_owned(), 0)]),
            classes: HashSet::new(),
            code: HashSet::new(),
            reached: None,
            bounds: None,
            normal: None,
            ended_by_hand: false,
            taken,
            tried: HashMap::new(),
            unfinished: Vec::new(),
            schedules: 0,
            in_vain: None,
            least_prediction: budget::LEAST_PREDICTION,
            others: None,
            idle: IdleTimer::new(),
            ended_early: None,
            jobs: plan.jobs,
            language: Arc::default(),
            unchecked: None,
        }
    }

    /// Takes notice of the first run.
    pub fn recorded(&mut self, run: &Run, ended_by_hand: bool) -> Result<()> {
        self.ended_by_hand = ended_by_hand;
        self.language = folder::language(&self.plan.folder);
        self.bounds = Some(Bounds::of(run));
        self.unchecked = run.unchecked();
        let events = run.processes.iter().map(|process| process.events).sum();
        let threads = run.processes.iter().map(|process| process.threads).sum();
        self.stats.extend([("recorded_events".to_owned(), events), ("recorded_threads".to_owned(), threads)]);
        if self.plan.jobs > 1 && !self.plan.jobs_asked_for && meets_others(run)? {
            self.jobs = 1;
        }
        if run.timed_out {
            self.normal = Some(None);
        }
        Ok(())
    }

    /// From here on it is about other runs.
    pub fn first_run_is_done(&mut self) {
        self.ended_by_hand = false;
        self.others = Some((Instant::now(), Duration::ZERO));
    }

    /// None once there is enough to tell.
    pub fn left(&self) -> Duration {
        if self.reason_to_stop().is_some() { Duration::ZERO } else { left(self.deadline) }
    }

    /// Why nothing else needs to be tried.
    pub fn reason_to_stop(&self) -> Option<StopReason> {
        self.idle.reason_to_stop(self.plan, &self.candidates, self.others.is_none())
    }

    /// For runs that repeat something.
    pub fn settings(&self) -> RunSettings<'_> {
        let Options { front_ends, isolate, .. } = self.plan.options;
        RunSettings { front_ends, bounds: self.bounds, isolate, ..RunSettings::default() }
    }

    /// What was predicted and not made to happen is settled by a run that hung just there: which of several waiters a
    /// notify wakes is up to the program, so the predicted order may not be the one that leads there.
    fn drop_what_hung(&mut self) {
        let hung: Vec<_> = self.candidates.iter().filter_map(Candidate::hung_at).collect();
        let happened = |candidate: &Candidate| candidate.stuck_at().is_some_and(|places| hung.contains(&places));
        self.candidates.retain(|candidate| !happened(candidate));
    }

    /// Writes down what is known: whoever ends the test by force finds it.
    pub fn save(&mut self) -> Result<Report> {
        self.drop_what_hung();
        // The strongest first; ids are folder names already and stay.
        self.candidates.sort_by_key(|candidate| (candidate.rank(), candidate.id));
        if memory::times() > 0 {
            self.stats.insert("memory_limit".into(), memory::times());
        }
        let left_out = reweave_launch::session::left_out(&self.plan.options);
        if left_out > 0 {
            self.stats.insert("ignored_functions".into(), left_out);
        }
        let report = Report {
            reweave: env!("CARGO_PKG_VERSION").into(),
            schema: data::SCHEMA,
            program: self.plan.options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            findings: self.candidates.iter().map(Candidate::item).collect(),
            stats: self.stats.clone(),
            unchecked: self.unchecked.clone().or_else(|| self.unread()),
            bugs: Vec::new(),
            baseline: None,
            determinism: None,
            language: Arc::clone(&self.language),
        };
        save_report(&report, &self.plan.folder)?;
        Ok(report)
    }

    /// That the time was over before the recorded run was read, or before anything could be asked about it.
    fn unread(&self) -> Option<String> {
        let of = |name: &str| self.stats.get(name).copied().unwrap_or(0);
        let (all, unread) = (of("recorded_events"), of("unread_events"));
        if unread > 0 {
            let read = all.saturating_sub(unread);
            return Some(format!("only {read} of {all} events of the recorded run were read (see --budget)"));
        }
        let undecided = of("unknown_pairs");
        let unasked = undecided > 0 && of("questions") == 0 && left(self.deadline).is_zero();
        unasked
            .then(|| format!("no time was left to ask about {undecided} pairs of places that may race (see --budget)"))
    }

    /// Half of what is left for the recorded run; for all others together as much as running them took, so that neither
    /// starves.
    pub fn time_to_look(&self, least: Duration) -> Duration {
        let most = self.left() / 2;
        match self.others {
            None => most,
            Some((since, looking)) => since.elapsed().saturating_sub(looking * 2).max(least).min(most),
        }
    }

    /// Ids are folder names: none is given twice.
    pub fn next_id(&self) -> u32 {
        self.candidates.iter().map(|candidate| candidate.id).max().unwrap_or(0).max(self.taken) + 1
    }

    /// Where the candidate with this fingerprint is.
    pub fn known(&self, fingerprint: &str) -> Option<usize> {
        self.candidates.iter().position(|candidate| candidate.fingerprint() == fingerprint)
    }

    /// The stronger of two that are the same finding stays. Says whether the new one does.
    pub fn put(&mut self, known: Option<usize>, candidate: Candidate) -> bool {
        match known {
            None => self.candidates.push(candidate),
            Some(known) if self.candidates[known].gives_way_to(&candidate) => {
                let before = std::mem::replace(&mut self.candidates[known], candidate);
                if before.id != self.candidates[known].id {
                    let _ = fs::remove_dir_all(before.folder(&self.plan.folder));
                }
            }
            Some(_) => return false,
        }
        true
    }

    /// What a run did is kept unless it is known. One that hung is announced later: it may be reported as a deadlock
    /// yet.
    pub fn keep(&mut self, mut candidate: Candidate, ended: EndedBy, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let own = candidate.folder(&self.plan.folder);
        let known = self.known(candidate.fingerprint());
        if known.is_some_and(|known| self.candidates[known].confirmed().is_some()) {
            let _ = fs::remove_dir_all(own);
            return Ok(());
        }
        let settings = self.settings();
        if ended == EndedBy::Itself {
            minimise(&mut candidate, &own, &settings, Instant::now() + self.left() / budget::OWN_RUN_SHARE)?;
        }
        let until = Instant::now() + self.left() / budget::OWN_RUN_SHARE;
        let repeats = repeats(&Recording::open(settings.front_ends, &own)?, &settings, until)?;
        if let State::Confirmed(done) = &mut candidate.state {
            done.repeats = repeats;
        }
        let announced = candidate.harm() != Some(Harm::Hang) || ended == EndedBy::Us;
        if announced && candidate.confirmed().is_some() {
            watch(Stage::NewFinding(&candidate.item()));
        }
        if !self.put(known, candidate) {
            let _ = fs::remove_dir_all(own);
        }
        Ok(())
    }
}

/// Whether a run dealt with something that other runs at the same time would deal with, too: it read or wrote
/// descriptors, or is of several processes. Which of them are files and which are its own pipes is not known; it costs
/// time, not findings.
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
