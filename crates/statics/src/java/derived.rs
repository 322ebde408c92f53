//! Which choice something derives from, for people.

use reweave_report::determinism::{self, AccessAt, ChoiceAt, ChoiceKind, DerivedFrom, NotUnderstood};

use super::conflicts::AccessId;
use super::judge::Facts;
use super::names::Naming;
use super::solve::{Point, Solver};
use super::taint::{Because, Manner, Root};

/// Why a read derives from a choice that is made elsewhere.
#[derive(Clone, Copy, Debug)]
pub enum Derived {
    /// A write that it may see does.
    Write(AccessId, Manner, Because),
    /// The read itself does.
    Read(Manner, Because),
    /// The program may end before this is written.
    Ends(AccessId),
}

impl Derived {
    /// None where the program just ends.
    pub const fn because(&self) -> Option<Because> {
        match self {
            Self::Write(_, _, because) | Self::Read(_, because) => Some(*because),
            Self::Ends(_) => None,
        }
    }

    pub fn told(self, facts: &Facts<'_, '_>, naming: &Naming<'_, '_>) -> DerivedFrom {
        let write = match self {
            Self::Write(write, ..) | Self::Ends(write) => Some(write),
            Self::Read(..) => None,
        };
        let manner = match self {
            Self::Write(_, manner, _) | Self::Read(manner, _) => match manner {
                Manner::Value => determinism::Manner::Value,
                Manner::Executed => determinism::Manner::Executed,
                Manner::Place => determinism::Manner::Place,
            },
            Self::Ends(_) => determinism::Manner::Ends,
        };
        let access = |id: AccessId| AccessAt { writes: true, ..naming.point(facts.accesses.all[id].at) };
        let choice = self.because().map(|because| choice_at(facts, naming, because.root));
        DerivedFrom { manner, write: write.map(access), choice }
    }
}

/// Where a chain of dependences begins, and what is there.
pub fn choice_at(facts: &Facts<'_, '_>, naming: &Naming<'_, '_>, root: Root) -> ChoiceAt {
    let solver = facts.solver;
    let access = |id: AccessId| facts.accesses.all[id].at;
    let location = |id: AccessId| naming.location(facts.accesses.all[id].location).map(|(name, _)| name);
    let read = |at: Point, unknown: bool| {
        let mut ids = facts.accesses.by_point.get(&at).into_iter().flatten().copied();
        let is_meant = |id: &AccessId| {
            let access = &facts.accesses.all[*id];
            access.reads && (!unknown || facts.accesses.is_unknown(access.location))
        };
        ids.find(is_meant).and_then(location)
    };
    let (kind, at, name) = match root {
        Root::Read(id) => (ChoiceKind::Read, access(id), location(id)),
        Root::Library(at) => (ChoiceKind::Call, at, called(solver, at)),
        Root::ThreadName(at) => (ChoiceKind::ThreadName, at, called(solver, at)),
        Root::Throws(at) => (ChoiceKind::Throws, at, called(solver, at)),
        Root::Changed(at) => (ChoiceKind::Changed, at, read(at, false)),
        Root::Race(id) => (ChoiceKind::Race, access(id), location(id)),
        Root::Cancels(at) => (ChoiceKind::Cancels, at, called(solver, at)),
        Root::Opaque(at) => (ChoiceKind::NotUnderstood, at, not_understood(solver, at).or_else(|| called(solver, at))),
        Root::Touched(at) => (ChoiceKind::Touched, at, read(at, true)),
    };
    let unknown = if matches!(root, Root::Touched(_)) { all_not_understood(solver) } else { Vec::new() };
    ChoiceAt { kind, at: naming.point(at), name, unknown }
}

/// `Thread.isAlive`
fn called(solver: &Solver<'_>, at: Point) -> Option<String> {
    let method = &solver.call_at(at)?.method;
    let class = solver.classes.names.text(method.class).rsplit(['/', '$']).next().unwrap_or_default();
    Some(format!("{class}.{}", solver.classes.names.text(method.name)))
}

fn not_understood(solver: &Solver<'_>, at: Point) -> Option<String> {
    let mut all = solver.not_understood.iter();
    all.find(|(_, points)| points.contains(&at)).map(|((what, _), _)| what.clone())
}

/// Everything that is not understood: each of it may touch what is unknown.
fn all_not_understood(solver: &Solver<'_>) -> Vec<NotUnderstood> {
    solver.not_understood.keys().map(|(what, at)| NotUnderstood { what: what.clone(), at: at.clone() }).collect()
}
