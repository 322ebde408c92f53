//! Initialisers of classes that need each other: who asks first decides which of them finds the other unfinished.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{Def, How, Kind, Name, Place};
use super::solve::{Birth, Point, Solver};

/// Classes whose initialisers may run, in other threads, each of them before the other is done.
pub fn entangled(solver: &Solver<'_>) -> BTreeSet<Name> {
    let is_shared = |birth: &Birth| matches!(birth, Birth::Started(_) | Birth::Task(..) | Birth::Anywhere);
    if !solver.threads.iter().any(|thread| is_shared(&thread.birth)) {
        return BTreeSet::new();
    }
    let mut needs: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for at in solver.points() {
        let thread = solver.frames[at.frame.index()].thread;
        let Birth::Initialiser(class) = solver.threads[thread.index()].birth else { continue };
        needs.entry(class).or_default().extend(used_at(solver, at));
    }
    let reaches = |from: Name, to: Name| {
        let (mut seen, mut rest) = (BTreeSet::new(), vec![from]);
        while let Some(at) = rest.pop() {
            for next in needs.get(&at).into_iter().flatten() {
                if *next == to {
                    return true;
                }
                if seen.insert(*next) {
                    rest.push(*next);
                }
            }
        }
        false
    };
    needs.keys().copied().filter(|class| reaches(*class, *class)).collect()
}

/// Classes that a statement initialises, those above them among them; not the own one.
fn used_at(solver: &Solver<'_>, at: Point) -> Vec<Name> {
    let code = solver.code(at);
    let named = match &solver.statement_at(at).kind {
        Kind::Define(value) => match code.def(*value) {
            Def::New(class) => *class,
            Def::Load(Place::Static(member)) => member.class,
            _ => return Vec::new(),
        },
        Kind::Store(Place::Static(member), _) => member.class,
        Kind::Call(call) if call.how == How::Static => call.method.class,
        _ => return Vec::new(),
    };
    let thread = solver.frames[at.frame.index()].thread;
    let Birth::Initialiser(own) = solver.threads[thread.index()].birth else { return Vec::new() };
    // What main's class needs is done before anybody else is there.
    solver.classes.above(named).into_iter().filter(|one| *one != own && !solver.main_line.contains(one)).collect()
}
