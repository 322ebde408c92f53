//! What a run must show for a finding to be confirmed, kept in the finding's folder so that a replay can look for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use reweave_model::{AccessFlags, Event, EventId, Finding, Kind, Misuse, Op, Pc, ThreadId};
use reweave_predict::analyses::destroyed::recorded::late_uses;
use reweave_predict::analyses::hb::HbRaces;
use reweave_predict::analyses::misuse::Misuses;
use reweave_predict::analyses::serializability::Serializability;
use reweave_predict::linear::{self, Linear};
use reweave_trace::{Outcome, Trace};
use serde::{Deserialize, Serialize};

use super::stuck::stuck;
use super::{Freed, Sight, spinning};
use crate::names::{Code, Names};
use crate::replay;
use crate::{Error, Result};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Goal {
    /// As in the report.
    pub kind: String,
    /// A race by the memory model alone: the accesses need not come one right after the other.
    #[serde(default)]
    pub memory_order: bool,
    pub command: Vec<String>,
    pub cwd: String,
    /// Of an atomicity violation: where its block begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Code>,
    /// That nobody declared.
    #[serde(default)]
    pub inferred: bool,
    /// Of a deadlock: threads go round loops instead of waiting.
    #[serde(default)]
    pub spins: bool,
    /// Who makes the accesses, numbered as they come.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// Of a nondeterministic read: which write it is to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sight: Option<Box<Sight>>,
    /// Code positions of the accesses (of a deadlock: of what each thread waits for).
    pub accesses: Vec<Code>,
    pub outcome: Outcome,
    /// File name of the trace in the same folder: that of a child process has a number.
    pub trace: String,
}

/// Where a run shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The code position of the access that came first.
    pub first: Code,
    /// Steps of the run before the bug.
    pub steps_before: u64,
}

impl Goal {
    /// What a run must show for this finding of `trace`. Its outcome and files are not known yet.
    pub fn of(trace: &Trace, finding: &Finding) -> Result<Self> {
        let kind = reweave_report::resolve::kind_name(finding.kind).to_owned();
        let command = replay::command_of(trace.meta()).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(Self {
            kind,
            memory_order: finding.weak_order,
            command,
            cwd: trace.meta().cwd.clone(),
            block: codes(trace, finding, finding.block.iter().map(|block| block.enter))?.pop(),
            spins: false,
            sight: Sight::of(trace, finding)?.map(Box::new),
            inferred: finding.block.as_ref().is_some_and(|block| !block.declared),
            threads: numbered(finding.accesses.iter().map(|access| access.thread)),
            accesses: codes(trace, finding, finding.accesses.iter().map(|access| access.pc))?,
            outcome: Outcome::Unknown,
            trace: super::TRACE.into(),
        })
    }

    pub fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    pub fn save(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        fs::write(path, text + "\n").map_err(Error::output("write", path))
    }

    fn is(&self, kind: Kind) -> bool {
        self.kind == reweave_report::resolve::kind_name(kind)
    }

    /// Where a run did it, if it did.
    pub fn shown(&self, trace: &Trace) -> Result<Option<Shown>> {
        match self.accesses[..] {
            _ if self.is(Kind::Nondeterminism) => match &self.sight {
                Some(sight) => sight.shown(trace),
                None => Ok(None),
            },
            _ if self.is(Kind::Failure) => failed(trace, &self.outcome),
            [used, end] if self.is(Kind::Misuse) => too_late(trace, used, end),
            [..] if self.is(Kind::Misuse) => misused(trace, &self.accesses),
            [one, two] if self.is(Kind::Race) && self.memory_order => unordered(trace, one, two),
            [one, two] if self.is(Kind::Race) => adjacent(trace, one, two),
            _ if self.spins => spins(trace),
            [..] if self.is(Kind::Deadlock) => stuck(trace, &self.accesses),
            [..] if self.inferred => interleaved(trace, &self.accesses, &self.threads),
            _ => match self.block {
                Some(block) => torn(trace, block),
                None => Ok(None),
            },
        }
    }

    /// Whether a run did it.
    pub fn reached(&self, trace: &Trace, outcome: &Outcome) -> Result<bool> {
        // A breakpoint: nothing to look for but what came of it.
        if self.accesses.is_empty() && !self.is(Kind::Failure) {
            return Ok(replay::same_outcome(&self.outcome, outcome));
        }
        Ok(self.shown(trace)?.is_some())
    }

    /// The number of steps of this trace before the bug.
    pub fn steps_before(&self, trace: &Trace) -> Result<Option<u64>> {
        Ok(self.shown(trace)?.filter(|_| !self.spins).map(|shown| shown.steps_before))
    }
}

/// Code positions of a finding by name.
fn codes(trace: &Trace, finding: &Finding, pcs: impl Iterator<Item = Pc>) -> Result<Vec<Code>> {
    let mut names = Names::default();
    let last = finding.accesses.iter().map(|access| access.event).max().unwrap_or_default();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.id > last {
            break;
        }
        if matches!(event.op, Op::Module { .. }) {
            names.see(&event);
        }
    }
    Ok(pcs.map(|pc| names.code(pc)).collect())
}

/// Goes through a trace until `visit` says where it is shown. It hears of each event, what code is called by then, and how many
/// steps came before it.
pub(super) fn scan<F>(trace: &Trace, mut visit: F) -> Result<Option<Shown>>
where
    F: FnMut(&Event<'_>, &Names, u64) -> Option<Shown>,
{
    let mut names = Names::default();
    let mut steps = 0u64;
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if matches!(event.op, Op::Module { .. }) {
            names.see(&event);
        }
        if let Some(shown) = visit(&event, &names, steps) {
            return Ok(Some(shown));
        }
        steps += u64::from(event.op.is_step());
    }
    Ok(None)
}

#[derive(Clone, Copy)]
struct Access {
    thread: ThreadId,
    code: Code,
    addr: u64,
    size: u64,
    write: bool,
    atomic: bool,
}

impl Access {
    fn races(&self, other: &Self) -> bool {
        self.thread != other.thread
            && (self.write || other.write)
            && !(self.atomic && other.atomic)
            && self.addr < other.addr.saturating_add(other.size)
            && other.addr < self.addr.saturating_add(self.size)
    }
}

/// The first place in a trace where accesses at the two code positions, by different threads, to overlapping bytes, at
/// least one writing and one not atomic, follow each other. All that one library call does is one step here: no other thread
/// can come in between.
fn adjacent(trace: &Trace, one: Code, two: Code) -> Result<Option<Shown>> {
    let (mut before, mut now): (Vec<Access>, Vec<Access>) = (Vec::new(), Vec::new());
    // Who made the steps in `now`, and whether a library call did.
    let mut call: Option<(ThreadId, Code, bool)> = None;
    scan(trace, |event, names, steps| {
        if !event.op.is_step() {
            return None;
        }
        let (access, library) = match event.op {
            Op::Read { addr, size, flags, .. } => {
                (Some((addr, u64::from(size), false, false)), flags.has(AccessFlags::LIBRARY))
            }
            Op::Write { addr, size, flags, .. } => {
                (Some((addr, u64::from(size), true, false)), flags.has(AccessFlags::LIBRARY))
            }
            Op::Atomic { addr, size, kind, .. } => (Some((addr, u64::from(size), kind.writes(), true)), false),
            Op::Free { addr, size } => (Some((addr, size, true, false)), true),
            Op::Alloc { .. } | Op::Input { .. } => (None, true),
            _ => (None, false),
        };
        let (thread, code) = (event.thread, names.code(event.pc));
        if call != Some((thread, code, true)) || !library {
            before = std::mem::take(&mut now);
            call = Some((thread, code, library));
        }
        let (addr, size, write, atomic) = access?;
        let access = Access { thread, code, addr: addr.0, size, write, atomic };
        let wanted = |first: &&Access| {
            ((first.code, code) == (one, two) || (first.code, code) == (two, one)) && first.races(&access)
        };
        if let Some(first) = before.iter().find(wanted) {
            let between = (before.len() + now.len()) as u64;
            return Some(Shown { first: first.code, steps_before: steps - between });
        }
        now.push(access);
        None
    })
}

/// Whether the run's own synchronization leaves accesses at the two code positions unordered by the rules of C11.
fn unordered(trace: &Trace, one: Code, two: Code) -> Result<Option<Shown>> {
    let mut races = HbRaces::default();
    linear::run(trace, &mut races, &mut |_| true)?;
    let pairs = races.finish().pairs;
    let wanted: BTreeMap<EventId, EventId> = pairs.iter().map(|pair| (pair.second, pair.first)).collect();
    let firsts: BTreeSet<EventId> = pairs.iter().map(|pair| pair.first).collect();
    let mut code_of = BTreeMap::new();
    scan(trace, |event, names, steps| {
        let code = names.code(event.pc);
        if firsts.contains(&event.id) {
            code_of.insert(event.id, code);
        }
        let first: Code = *code_of.get(wanted.get(&event.id)?)?;
        let meant = (first, code) == (one, two) || (first, code) == (two, one);
        meant.then_some(Shown { first, steps_before: steps })
    })
}

/// Whether the run fails in this way, or, where it is no failure that it ended like this, uses memory that was freed.
fn failed(trace: &Trace, outcome: &Outcome) -> Result<Option<Shown>> {
    let ended = trace.footer().map(|footer| &footer.outcome);
    let at = match Freed::of(trace)? {
        _ if replay::is_failure(outcome) => {
            if !ended.is_some_and(|ended| replay::same_outcome(ended, outcome)) {
                return Ok(None);
            }
            None
        }
        Some(freed) => Some(freed.used),
        None => return Ok(None),
    };
    before(trace, |event| Some(event.id) == at)
}

/// Whether the run spins for ever. Where it begins to is not told: such runs are too long to be read for it.
fn spins(trace: &Trace) -> Result<Option<Shown>> {
    let nowhere = Code { module: 0, offset: 0 };
    Ok(spinning(trace)?.map(|_| Shown { first: nowhere, steps_before: 0 }))
}

/// Whether the run misuses something at each of these places.
fn misused(trace: &Trace, places: &[Code]) -> Result<Option<Shown>> {
    let mut misuses = Misuses::default();
    linear::run(trace, &mut misuses, &mut |_| true)?;
    let found: BTreeSet<EventId> = misuses.finish().misuses.iter().map(|misused| misused.event).collect();
    let mut left = places.to_vec();
    let mut first = None;
    scan(trace, |event, names, steps| {
        let code = found.contains(&event.id).then(|| names.code(event.pc))?;
        let at = left.iter().position(|place| *place == code)?;
        left.swap_remove(at);
        let shown = *first.get_or_insert(Shown { first: code, steps_before: steps });
        left.is_empty().then_some(shown)
    })
}

/// Whether the run uses something at one place that was destroyed at the other, or destroys there what somebody holds.
fn too_late(trace: &Trace, used: Code, end: Code) -> Result<Option<Shown>> {
    let late: BTreeMap<EventId, Pc> = late_uses(trace)?.iter().map(|late| (late.used, late.end_pc)).collect();
    scan(trace, |event, names, steps| {
        let code = names.code(event.pc);
        let held = matches!(event.op, Op::Misused { what: Misuse::DestroyHeld, .. }) && code == end;
        let late = late.get(&event.id).is_some_and(|pc| names.code(*pc) == end) && code == used;
        (held || late).then_some(Shown { first: code, steps_before: steps })
    })
}

/// The place of the first event that is meant, otherwise of the last step.
fn before(trace: &Trace, meant: impl Fn(&Event<'_>) -> bool) -> Result<Option<Shown>> {
    let mut last = None;
    let found = scan(trace, |event, names, steps| {
        if event.op.is_step() {
            last = Some(Shown { first: names.code(event.pc), steps_before: steps });
        }
        last.filter(|_| meant(event))
    })?;
    Ok(found.or(last))
}

/// Whether the run itself is one that no order of whole blocks explains, because of a block that begins at this place.
fn torn(trace: &Trace, block: Code) -> Result<Option<Shown>> {
    let mut violations = Serializability::default();
    linear::run(trace, &mut violations, &mut |_| true)?;
    let pairs = violations.finish().pairs;
    scan(trace, |event, names, steps| {
        let mut here = pairs.iter().filter(|pair| pair.second == event.id);
        here.any(|pair| names.code(pair.first_pc) == block).then_some(Shown { first: block, steps_before: steps })
    })
}

/// Threads as numbers, in the order in which they come.
fn numbered(threads: impl Iterator<Item = ThreadId>) -> Vec<u32> {
    let mut known: Vec<ThreadId> = Vec::new();
    let number = |thread: ThreadId| {
        let at = known.iter().position(|other| *other == thread).unwrap_or_else(|| {
            known.push(thread);
            known.len() - 1
        });
        at as u32
    };
    threads.map(number).collect()
}

/// A match of accesses on its way: how many there are, who the threads are, and where the first one was.
struct Match {
    found: usize,
    threads: Vec<ThreadId>,
    addr: Option<u64>,
    steps: u64,
}

/// Whether the accesses come in this order, by threads as numbered, those of one thread with none at the same place of it in
/// between, and the last one where the first one was.
fn interleaved(trace: &Trace, places: &[Code], numbers: &[u32]) -> Result<Option<Shown>> {
    let mut open: Vec<Match> = Vec::new();
    scan(trace, |event, names, steps| {
        let code = names.code(event.pc);
        if !event.op.is_step() || !places.contains(&code) {
            return None;
        }
        let addr = match event.op {
            Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. } => Some(addr.0),
            _ => None,
        };
        // Whoever begins or ends anew begins another match.
        open.retain(|one| {
            let own = one.threads.first() == Some(&event.thread);
            !own || places[one.found] == code && numbers[one.found] == 0
        });
        for one in &mut open {
            let number = numbers[one.found] as usize;
            let who = one.threads.get(number).copied();
            let fits = match who {
                Some(thread) => thread == event.thread,
                None => number == one.threads.len() && !one.threads.contains(&event.thread),
            };
            if places[one.found] != code || !fits {
                continue;
            }
            if one.found + 1 == places.len() {
                if one.addr.is_none() || addr.is_none() || one.addr == addr {
                    return Some(Shown { first: places[0], steps_before: one.steps });
                }
                continue;
            }
            if who.is_none() {
                one.threads.push(event.thread);
            }
            one.found += 1;
        }
        if places[0] == code {
            open.push(Match { found: 1, threads: vec![event.thread], addr, steps });
        }
        None
    })
}
