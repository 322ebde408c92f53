//! What is said about reads, locations, outputs and the exit status.

use std::collections::BTreeMap;

use reweave_script::language::{StatementKind, Type};

use crate::choices::{OrderFree, Pair, Taint, pairs};
use crate::domain::value::Value;
use crate::domain::views::Partition;
use crate::frames::{Point, ThreadId};
use crate::order_free;
use crate::program::Program;
use crate::reads::Seen;
use crate::values::locations::LocationId;
use crate::values::state::Source;

/// Why a choice returns the same value all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SameBecause {
    /// There is one value only.
    Constant,
    /// All that is in parallel are updates whose order does not matter.
    OrderFree,
}

/// What a read is, for one input, over all executions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Always the same source, with the same value.
    Fixed,
    SameValue(SameBecause),
    /// Inside an update whose order does not matter: which update is before it differs.
    PartOfUpdate,
    /// It depends on a choice made elsewhere: its value, its source, or whether it is executed at all.
    Derived,
    /// At least two sources: the pairs that may happen in parallel.
    Choice(Vec<Pair>),
    /// Something that is not understood may touch it.
    Unknown,
}

/// What is said without running anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Cannot differ, under the listed assumptions.
    Proved,
    /// May differ; a run may confirm it.
    CanDiffer,
    Unknown,
}

impl Kind {
    pub const fn verdict(&self) -> Verdict {
        match self {
            Self::Fixed | Self::SameValue(_) | Self::PartOfUpdate => Verdict::Proved,
            Self::Derived | Self::Choice(_) => Verdict::CanDiffer,
            Self::Unknown => Verdict::Unknown,
        }
    }
}

/// Why what is printed can differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputDiffers {
    /// What is printed, or whether.
    Tainted,
    /// Another thread may print before or after it.
    Order(Point),
    /// Main may end before.
    Outlived,
}

/// A read of one location; the end of main reads every location, too.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadVerdict {
    pub at: Point,
    pub kind: Kind,
    pub seen: Seen,
}

pub struct Verdicts {
    /// By location: its reads, and those at the end of main.
    pub reads: BTreeMap<LocationId, Vec<ReadVerdict>>,
    pub last: BTreeMap<LocationId, Vec<ReadVerdict>>,
    pub outputs: BTreeMap<Point, Vec<OutputDiffers>>,
    /// The exit status, a failure among them.
    pub status: Verdict,
    pub taint: Taint,
    pub order_free: OrderFree,
}

impl Verdicts {
    pub fn new(program: &Program<'_>) -> Self {
        let (taint, order_free) = order_free::find(program);
        let mut verdicts = Self {
            reads: BTreeMap::new(),
            last: BTreeMap::new(),
            outputs: BTreeMap::new(),
            status: Verdict::Proved,
            taint,
            order_free,
        };
        for (at, read) in &program.accesses.reads {
            for seen in &read.seen {
                let mut kind = verdicts.classify(program, *at, seen);
                if read.unknown {
                    kind = Kind::Unknown;
                }
                let verdict = ReadVerdict { at: *at, kind, seen: seen.clone() };
                verdicts.reads.entry(seen.location).or_default().push(verdict);
            }
        }
        for (at, all) in &program.accesses.last {
            for seen in all {
                let kind = verdicts.classify(program, *at, seen);
                let verdict = ReadVerdict { at: *at, kind, seen: seen.clone() };
                verdicts.last.entry(seen.location).or_default().push(verdict);
            }
        }
        verdicts.find_outputs(program);
        verdicts.status = verdicts.exit_status(program);
        verdicts
    }

    fn classify(&self, program: &Program<'_>, at: Point, seen: &Seen) -> Kind {
        let pairs = pairs(program, at, seen);
        let matter = self.order_free.without(program, at, seen);
        let decided = self.taint.control.contains(&at) || self.is_end_decided(program, at);
        let sources = seen.before.iter().filter_map(|source| match source {
            Source::Write(point) => Some(point),
            Source::System => None,
        });
        let tainted = sources.chain(&seen.beside).any(|write| self.taint.writes.contains(write));
        if decided {
            // It is executed or not because of a choice, whatever it returns.
            return if matter.is_empty() { Kind::Derived } else { Kind::Choice(matter) };
        }
        if self.taint.elsewhere.contains(&at) {
            let read = program.accesses.reads.get(&at);
            let same = read.is_some_and(|read| read.value.is_constant());
            return if same { Kind::SameValue(SameBecause::Constant) } else { Kind::Derived };
        }
        if seen.value.is_constant() {
            let fixed = pairs.is_empty() && !tainted;
            return if fixed { Kind::Fixed } else { Kind::SameValue(SameBecause::Constant) };
        }
        if !matter.is_empty() {
            return Kind::Choice(matter);
        }
        if tainted {
            return Kind::Derived;
        }
        match pairs.is_empty() {
            // A lock may keep it from seeing other updates, which its own thread's came after or before.
            _ if self.order_free.updates.contains(&at) => Kind::PartOfUpdate,
            true => Kind::Fixed,
            false => Kind::SameValue(SameBecause::OrderFree),
        }
    }

    /// Main returns in more than one place, and which it is depends on a choice.
    fn is_end_decided(&self, program: &Program<'_>, at: Point) -> bool {
        program.accesses.last.contains_key(&at) && self.taint.control.contains(&at)
    }

    fn find_outputs(&mut self, program: &Program<'_>) {
        let is_output =
            |at: &Point| matches!(program.skeleton.statement(at.statement).kind, StatementKind::Output { .. });
        let all: Vec<Point> = program.accesses.registers.keys().copied().filter(is_output).collect();
        for at in &all {
            let mut why = Vec::new();
            if self.taint.control.contains(at) || self.taint.uses.contains(at) {
                why.push(OutputDiffers::Tainted);
            }
            why.extend(all.iter().find(|other| program.parallel.may(*at, **other)).copied().map(OutputDiffers::Order));
            if program.skeleton.thread_of(*at) != ThreadId::MAIN && program.parallel.may_outlive_main(*at) {
                why.push(OutputDiffers::Outlived);
            }
            self.outputs.insert(*at, why);
        }
    }

    fn exit_status(&self, program: &Program<'_>) -> Verdict {
        let differs = |at: &Point| {
            self.taint.control.contains(at) || self.taint.uses.contains(at) || program.parallel.may_outlive_main(*at)
        };
        let fails = program.accesses.may_fail.iter().any(differs);
        let returned = program.accesses.last.keys().any(|at| {
            let statement = program.skeleton.statement(at.statement);
            let gives = matches!(statement.kind, StatementKind::Return { value: Some(_) });
            gives && (self.taint.uses.contains(at) || self.taint.control.contains(at))
        });
        if fails || returned { Verdict::CanDiffer } else { Verdict::Proved }
    }

    /// The worst that is said about any read of a location. Reads inside order-free updates do not count.
    pub fn location(&self, location: LocationId) -> Verdict {
        let all = self.reads.get(&location).into_iter().chain(self.last.get(&location)).flatten();
        all.map(|read| read.kind.verdict()).max().unwrap_or(Verdict::Proved)
    }

    /// Whether what is read of a location always lies in one class, although its source may differ.
    pub fn is_weakly_deterministic(&self, program: &Program<'_>, location: LocationId, by: Partition) -> bool {
        let kind = program.locations.get(location).kind;
        let all = self.reads.get(&location).into_iter().chain(self.last.get(&location)).flatten();
        let mut choices = all.filter(|read| read.kind.verdict() != Verdict::Proved);
        choices.all(|read| read.kind != Kind::Unknown && by.class(kind, &read.seen.value).is_some())
    }

    pub fn output(&self) -> Verdict {
        match self.outputs.values().all(Vec::is_empty) {
            true => Verdict::Proved,
            false => Verdict::CanDiffer,
        }
    }
}

/// Pairs of accesses that race: in parallel, conflicting, kept apart by no lock, not both atomic.
pub fn races(program: &Program<'_>) -> Vec<(LocationId, Pair)> {
    let mut accesses: BTreeMap<LocationId, Vec<(Point, bool)>> = BTreeMap::new();
    for (at, read) in &program.accesses.reads {
        read.seen.iter().for_each(|seen| accesses.entry(seen.location).or_default().push((*at, false)));
    }
    for (at, write) in &program.accesses.writes {
        write.locations.iter().for_each(|location| accesses.entry(*location).or_default().push((*at, true)));
    }
    let mut races = Vec::new();
    for (location, accesses) in accesses {
        for (index, (one, writes)) in accesses.iter().enumerate() {
            for (other, other_writes) in &accesses[index..] {
                let conflict = *writes || *other_writes;
                let atomic = is_atomic(program, *one) && is_atomic(program, *other);
                if conflict
                    && !atomic
                    && program.parallel.may(*one, *other)
                    && program.locks.excludes(*one, *other).is_none()
                {
                    races.push((location, (*one.min(other), *one.max(other))));
                }
            }
        }
    }
    races.sort_unstable();
    races.dedup();
    races
}

fn is_atomic(program: &Program<'_>, at: Point) -> bool {
    use reweave_script::language::Mode;
    match program.skeleton.statement(at.statement).kind {
        StatementKind::Load { mode, .. } | StatementKind::Store { mode, .. } => matches!(mode, Mode::Atomic(_)),
        _ => true,
    }
}

/// A value of a location, for people.
pub fn shown(kind: Type, value: &Value) -> String {
    value.shown(kind)
}
