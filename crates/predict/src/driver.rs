//! Which analyses run, in which order, and what becomes of their candidates.
//!
//! By default the streaming analyses list candidates in one pass over the trace, cheapest first, and the engine is asked about
//! whatever passes the quick check. A finding bears the name of the cheapest analysis that listed its pair, and it is
//! `predicted` only with a witness that the checker accepted. What the engine refutes is gone; what it cannot settle is
//! counted. An analysis asked for by name also shows its candidates that stay without a witness, as `potential`.

mod atomicity;
mod deadlocks;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use reweave_model::{Accessor, EventId, Finding, Kind, Op, OpName, Pc, Strength, ThreadId, Witness};
use reweave_trace::{Footer, Outcome, PARTIAL, Result, Trace};

use crate::analyses::{
    cp, destroyed, goodlock, hb, lock_history, lock_reacquire, lockset, maximal, misuse, nondeterminism, reduction,
    serializability, shb, syncp, syncp_deadlock, wcp,
};
use crate::history::Mode;
use crate::linear::{self, Candidate, Candidates, Linear, Way};
use crate::search::{self, Limits};

/// An analysis, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    pub name: &'static str,
    pub what: &'static str,
    /// Part of the default run.
    pub default: bool,
}

/// Every analysis there is, cheapest first.
pub const ANALYSES: &[About] = &[
    about("hb", "happens-before, C11-aware: the trace's own races", true),
    about("shb", "schedulable happens-before: every pair it lists is a race", true),
    about("lockset", "no common lock and no order that every run keeps: patterns, may be false", false),
    about("lock-history", "those that the histories of locks do not refute (iPA): patterns, may be false", false),
    about("syncp", "races that keep the order of critical sections", false),
    about("wcp", "weak causally-precedes", true),
    about("cp", "causally-precedes, in windows", false),
    about("maximal", "every race that some feasible reordering of the trace shows", true),
    about("prefix", "the same, if every read keeps its value", false),
    about("said", "the same over complete traces (Said et al.)", false),
    about("serializability", "every order of the trace in which an atomic block could not have run in one go", true),
    about("access-triple", "the same by accesses of one other thread to one or two locations", false),
    about("lock-reacquire", "atomic blocks that take a lock again (AtomFuzzer): patterns, may be false", false),
    about("reduction", "atomic blocks that Lipton's reduction does not show atomic: patterns, may be false", false),
    about("goodlock", "threads that may wait for each other's locks: patterns, may be false", true),
    about("sync-preserving-deadlock", "deadlocks that keep the order of critical sections", false),
    about("maximal-deadlock", "every deadlock that some feasible reordering of the trace shows", true),
    about("stall", "threads that wait for a notify, a post, an arrival or an end that never comes", true),
    about("misuse", "unlocking what is not held, locking twice, destroying what is held, threads never joined", true),
    about(destroyed::NAME, "locks, conditions, barriers and semaphores that are used after they were destroyed", true),
    about(
        nondeterminism::NAME,
        "reads that can see another write in another interleaving: information, no defects",
        false,
    ),
];

const fn about(name: &'static str, what: &'static str, default: bool) -> About {
    About { name, what, default }
}

#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// By name; empty: the default ones.
    pub analyses: Vec<String>,
    /// Functions that are to be atomic.
    pub atomic: Vec<String>,
    /// What is found will be tried: what is only potential is worth a run, and so are blocks that nobody declared.
    pub for_trial: bool,
    /// Fill in [`Answer::shown`].
    pub shown: bool,
    pub limits: Limits<'a>,
    pub nondeterminism: crate::nondeterminism::Options,
}

/// What the analyses have to say.
#[derive(Debug, Default)]
pub struct Answer {
    pub findings: Vec<Finding>,
    pub events: u64,
    /// Pairs of code positions that may race and were not settled.
    pub unknown_pairs: u64,
    pub stats: BTreeMap<String, u64>,
    /// Functions that are to be atomic and were never called.
    pub unseen_functions: Vec<String>,
    /// Races that an analysis shows to be reachable if reads may return anything, with its own way there, if wanted.
    pub shown: Vec<Finding>,
}

/// Events of a long trace.
const LONG: u64 = 5_000_000;

type Pcs = (Pc, Pc);

fn pcs(candidate: &Candidate) -> Pcs {
    let Candidate { first_pc, second_pc, .. } = *candidate;
    (first_pc.min(second_pc), first_pc.max(second_pc))
}

/// Runs the analyses. `progress` hears what is done and how far it is, from 0 to 1.
pub fn predict(trace: &Trace, options: &Options<'_>, progress: &mut dyn FnMut(&'static str, f64)) -> Result<Answer> {
    let chosen = |name: &str, default: bool| {
        if options.analyses.is_empty() { default } else { options.analyses.iter().any(|one| one == name) }
    };
    let mut answer = Answer::default();
    // One keeps something of every event, the other needs the whole trace at once: on long traces only if asked for.
    let hungry =
        |name: &str| options.analyses.is_empty() && trace.event_count() > LONG && matches!(name, "wcp" | "stall");
    let chosen_ones = ANALYSES.iter().filter(|about| chosen(about.name, about.default) && !hungry(about.name));
    let mut names: Vec<&'static str> = chosen_ones.map(|about| about.name).collect();
    if options.nondeterminism.wanted && !names.contains(&nondeterminism::NAME) {
        names.push(nondeterminism::NAME);
    }
    let mut listed = candidates(trace, &names, options, &mut answer, progress)?;
    let blocks = listed.extract_if(.., |(name, _)| atomicity::STREAMING.contains(name)).collect::<Vec<_>>();
    let pairs: Vec<(&'static str, Vec<Candidate>)> =
        listed.iter().map(|(name, found)| (*name, found.pairs.clone())).collect();
    races(trace, &names, &pairs, options, &mut answer, progress)?;
    deadlocks::deadlocks(trace, &names, &listed, options, &mut answer, progress)?;
    deadlocks::stalls(trace, &names, options, &mut answer, progress)?;
    misuses(trace, &listed, &mut answer)?;
    late_uses(trace, &names, options, &mut answer, progress)?;
    atomicity::atomicity(trace, &names, &blocks, options, &mut answer, progress)?;
    if names.contains(&nondeterminism::NAME) {
        let progress = &mut |done| progress(nondeterminism::NAME, done);
        let (how, limits) = (options.nondeterminism, &options.limits);
        answer.findings.extend(nondeterminism::run(trace, how, limits, &mut answer.stats, progress)?);
    }
    if options.limits.is_over() {
        answer.stats.insert("cut_short".to_owned(), 1);
    }
    answer.findings.sort_by_key(|finding| finding.accesses().iter().map(|access| access.event).max());
    Ok(answer)
}

/// Asks the engine about races, and adds what it leaves of the candidates of analyses that were asked for by name.
fn races(
    trace: &Trace,
    names: &[&'static str],
    listed: &[(&'static str, Vec<Candidate>)],
    options: &Options<'_>,
    answer: &mut Answer,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<()> {
    let mut first_by: HashMap<Pcs, &'static str> = HashMap::new();
    for (name, candidates) in listed {
        for candidate in candidates {
            first_by.entry(pcs(candidate)).or_insert(name);
        }
    }

    let only: HashSet<Pcs> = first_by.keys().copied().collect();
    let mode = if options.analyses.is_empty() || names.contains(&"maximal") { Some(options.limits.mode) } else { None };
    let weaker = [("prefix", Mode::Prefix), ("said", Mode::Said)];
    let modes = mode.into_iter().chain(weaker.iter().filter(|(name, _)| names.contains(name)).map(|(_, mode)| *mode));
    let mut questions: Vec<(&'static str, Mode, Option<&HashSet<Pcs>>)> =
        modes.map(|mode| (maximal::name(mode), mode, None)).collect();
    if questions.is_empty() && !only.is_empty() && names.iter().any(|name| *name != "lockset") {
        // Only witnesses for what the streaming analyses list.
        questions.push(("maximal", options.limits.mode, Some(&only)));
    }
    let mut settled: HashSet<Pcs> = HashSet::new();
    let mut refuted: HashSet<Pcs> = HashSet::new();
    for (name, mode, only) in questions {
        let limits = Limits { mode, ..options.limits };
        let found = crate::races::races(trace, name, &limits, only, &mut |done| progress(name, done))?;
        answer.unknown_pairs += found.stats.unknown;
        refuted.extend(found.refuted);
        for (key, value) in [
            ("windows", found.stats.windows),
            ("kept_events", found.stats.kept),
            ("candidate_pairs", found.stats.candidates),
            ("questions", found.stats.questions),
            ("solving_ms", found.stats.solving.as_millis() as u64),
            ("refused_witnesses", found.stats.refused),
        ] {
            *answer.stats.entry(key.to_owned()).or_default() += value;
        }
        for mut finding in found.findings {
            let pair = pair_of(&finding);
            if settled.insert(pair) {
                finding.analysis = first_by.get(&pair).copied().unwrap_or(name);
                answer.findings.push(finding);
            }
        }
    }
    // Somebody who will try what is found hears of what the trace itself leaves unordered, if the engine did not come to it.
    settled.extend(if options.analyses.is_empty() { refuted } else { HashSet::new() });
    let told = |name: &str| !options.analyses.is_empty() || options.for_trial && matches!(name, "hb" | "shb");
    for (name, candidates) in listed {
        if told(name) {
            let left: Vec<Candidate> =
                candidates.iter().filter(|candidate| settled.insert(pcs(candidate))).copied().collect();
            answer.findings.extend(potential(trace, name, &left)?);
        }
    }
    Ok(())
}

fn pair_of(finding: &Finding) -> Pcs {
    let pc = |i: usize| finding.accesses().get(i).map_or(Pc(0), |access: &Accessor| access.pc);
    (pc(0).min(pc(1)), pc(0).max(pc(1)))
}

/// A new analysis that needs one pass only, by name.
pub fn streaming(name: &str) -> Option<Box<dyn Linear>> {
    Some(match name {
        "lockset" => Box::new(lockset::LocksetRaces::default()),
        "hb" => Box::new(hb::HbRaces::default()),
        "shb" => Box::new(shb::ShbRaces::default()),
        "syncp" => Box::new(syncp::SyncpRaces::default()),
        "wcp" => Box::new(wcp::WcpRaces::default()),
        "cp" => Box::new(cp::CpRaces::default()),
        "lock-history" => Box::new(lock_history::LockHistoryRaces::comparing()),
        "goodlock" => Box::new(goodlock::Goodlock::default()),
        "sync-preserving-deadlock" => Box::new(syncp_deadlock::SyncpDeadlocks::default()),
        "misuse" => Box::new(misuse::Misuses::default()),
        "serializability" => Box::new(serializability::Serializability::default()),
        "lock-reacquire" => Box::new(lock_reacquire::LockReacquire::default()),
        "reduction" => Box::new(reduction::Reduction::default()),
        _ => return None,
    })
}

/// The streaming analyses among these, in one pass.
fn candidates(
    trace: &Trace,
    names: &[&'static str],
    options: &Options<'_>,
    answer: &mut Answer,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<Vec<(&'static str, Candidates)>> {
    let running = names.iter().filter_map(|&name| Some((name, streaming(name)?)));
    let (names, mut analyses): (Vec<&'static str>, Vec<Box<dyn Linear>>) = running.unzip();
    // What is listed has to be asked about, too.
    let now = Instant::now();
    let half = options.limits.deadline.map(|deadline| now + deadline.saturating_duration_since(now) / 2);
    let limits = Limits { deadline: half, ..options.limits };
    // Also with none of them: whether the trace can have happened is to be known before anything else.
    answer.events = linear::run(trace, &mut analyses, &mut |done| {
        progress("reading", done);
        !limits.is_over()
    })?;
    if limits.is_over() {
        answer.stats.insert("cut_short".to_owned(), 1);
    }
    let mut listed = Vec::new();
    for (name, analysis) in names.into_iter().zip(&mut analyses) {
        let found = analysis.finish();
        if found.dropped > 0 {
            answer.stats.insert(format!("{name}.dropped"), found.dropped);
        }
        let (what, count) = match name {
            "goodlock" | "sync-preserving-deadlock" => ("cycles", found.cycles.len()),
            "misuse" => ("events", found.misuses.len()),
            _ => ("pairs", found.pairs.len()),
        };
        answer.stats.insert(format!("{name}.{what}"), count as u64);
        answer.stats.extend(analysis.stats().into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
        answer.findings.extend(doomed(trace, name, &analysis.deadlocks())?);
        if options.shown {
            answer.shown.extend(shown(trace, name, &analysis.ways())?);
        }
        listed.push((name, found));
    }
    Ok(listed)
}

/// What the recorded run did wrong by itself: it did it, so nothing is left to show.
fn misuses(trace: &Trace, listed: &[(&'static str, Candidates)], answer: &mut Answer) -> Result<()> {
    // A run that hung, crashed or was cut off did not come to its joins.
    let whole =
        |footer: &Footer| matches!(footer.outcome, Outcome::Exited { .. }) && !footer.other.contains_key(PARTIAL);
    // So did one of which only a part was read.
    let ended = trace.footer().is_some_and(whole) && !answer.stats.contains_key("cut_short");
    for (name, found) in listed.iter().filter(|(_, found)| !found.misuses.is_empty()) {
        let misuses = || found.misuses.iter().filter(|misused| ended || misused.op != OpName::Fork);
        let accessors = accessors(trace, misuses().map(|misused| misused.event).collect())?;
        let misused = misuses().filter_map(|misused| accessors.get(&misused.event));
        // Who never waits for a thread may mean it; who waits for some has forgotten the others.
        let happened = |kind: &str| trace.footer().is_none_or(|footer| footer.kinds.get(kind).is_some_and(|&n| n > 0));
        let awaits = happened("join") || happened("detach");
        let finding = |accessor: &Accessor| {
            let sure = !accessor.op.is(OpName::Fork) || awaits;
            let strength = if sure { Strength::Confirmed } else { Strength::Potential };
            Finding::new(Kind::Misuse, strength, name, vec![accessor.clone()])
        };
        answer.findings.extend(misused.map(finding));
    }
    Ok(())
}

/// Uses of what is destroyed, in this run or in another order of it.
fn late_uses(
    trace: &Trace,
    names: &[&'static str],
    options: &Options<'_>,
    answer: &mut Answer,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<()> {
    let name = destroyed::NAME;
    if !names.contains(&name) {
        return Ok(());
    }
    let mut uses = destroyed::recorded::late_uses(trace)?;
    // What is destroyed too early is one bug, whoever comes too late.
    let mut ends = HashSet::new();
    uses.retain(|late| ends.insert(late.end_pc));
    let accessors = accessors(trace, uses.iter().flat_map(|late| [late.used, late.end]).collect())?;
    for late in &uses {
        let accesses = [late.used, late.end].iter().filter_map(|event| accessors.get(event).cloned()).collect();
        answer.findings.push(Finding::new(Kind::Misuse, Strength::Confirmed, name, accesses));
    }
    answer.stats.insert(format!("{name}.events"), uses.len() as u64);
    if trace.footer().is_some_and(|footer| footer.kinds.get("destroy").is_none_or(|&count| count == 0)) {
        return Ok(());
    }
    let found = destroyed::predicted::predicted(trace, &ends, &options.limits, &mut |done| progress(name, done))?;
    for (key, value) in [
        ("destroyed_questions", found.questions),
        ("unknown_destroyed", found.unknown),
        ("refused_witnesses", found.refused),
    ] {
        *answer.stats.entry(key.to_owned()).or_default() += value;
    }
    answer.findings.extend(found.findings);
    Ok(())
}

/// Candidates without a witness.
fn potential(trace: &Trace, name: &'static str, candidates: &[Candidate]) -> Result<Vec<Finding>> {
    let pairs: Vec<_> = candidates.iter().map(|pair| (pair.first, pair.second)).collect();
    unproven(trace, name, Kind::Race, &pairs)
}

/// What an analysis knows a way to, that of the trace's events at least: potential, as the reads may not play along.
fn shown(trace: &Trace, name: &'static str, ways: &[Way]) -> Result<Vec<Finding>> {
    let witnesses = search::along(trace, ways)?;
    let found = accessors(trace, ways.iter().flat_map(|way| [way.last.0, way.last.1]).collect())?;
    let finding = |(way, witness): (&Way, Option<Witness>)| {
        let accesses = vec![found.get(&way.last.0)?.clone(), found.get(&way.last.1)?.clone()];
        Some(Finding::new(Kind::Race, Strength::Potential, name, accesses).with_witness(witness))
    };
    Ok(ways.iter().zip(witnesses).filter_map(finding).collect())
}

/// Acquisitions that may wait for each other: one finding for each pair of code positions.
fn doomed(trace: &Trace, name: &'static str, pairs: &[(EventId, EventId)]) -> Result<Vec<Finding>> {
    let mut seen = HashSet::new();
    let mut findings = unproven(trace, name, Kind::Deadlock, pairs)?;
    findings.retain(|finding| seen.insert(pair_of(finding)));
    Ok(findings)
}

/// Findings for pairs of events, with nothing to show for them.
fn unproven(trace: &Trace, name: &'static str, kind: Kind, pairs: &[(EventId, EventId)]) -> Result<Vec<Finding>> {
    let found = accessors(trace, pairs.iter().flat_map(|&(first, second)| [first, second]).collect())?;
    let finding = |(first, second): &(EventId, EventId)| {
        let accesses = vec![found.get(first)?.clone(), found.get(second)?.clone()];
        Some(Finding::new(kind, Strength::Potential, name, accesses))
    };
    Ok(pairs.iter().filter_map(finding).collect())
}

/// These events as findings have them.
pub fn accessors(trace: &Trace, wanted: HashSet<EventId>) -> Result<HashMap<EventId, Accessor>> {
    let mut found: HashMap<EventId, Accessor> = HashMap::new();
    let mut held: HashMap<ThreadId, Vec<(reweave_model::ObjectId, EventId)>> = HashMap::new();
    let mut events = trace.events();
    while found.len() < wanted.len() {
        let Some(event) = events.next()? else { break };
        let locks = held.entry(event.thread).or_default();
        // Whoever waits has given the mutex up.
        if let Op::Wait { mutex, .. } = event.op {
            locks.retain(|(other, _)| *other != mutex);
        }
        if wanted.contains(&event.id) {
            let (thread, pc, stack) = (event.thread, event.pc, event.stack);
            let op = OpName::of(&event.op).into();
            let locks_held = locks.iter().map(|(_, event)| *event).collect();
            found.insert(event.id, Accessor { event: event.id, process: None, thread, pc, stack, op, locks_held });
        }
        match event.op {
            Op::Acquire { object, .. } | Op::Woken { mutex: object, .. } => locks.push((object, event.id)),
            Op::Release { object, .. } => locks.retain(|(other, _)| *other != object),
            _ => {}
        }
    }
    Ok(found)
}
