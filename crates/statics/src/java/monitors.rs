//! Locks that a thread holds whenever it is at a point (must-locksets).
//!
//! Two locks are the same only if they are one concrete object of a run, or the very object that is accessed: the same
//! allocation site is not enough. Lattice: sets of locks, by reverse inclusion. A lock that may have been left is not
//! counted; neither is one that only `tryLock` may have taken.

use std::collections::{BTreeSet, HashMap};

use reweave_jvm::classfile::access;

use super::code::{Block, Def, Kind, Value};
use super::models::Word;
use super::solve::{FrameId, ObjectId, Origin, Point, Solver};
use super::threads::Threads;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lock {
    /// One object of a run.
    Object(ObjectId),
    /// Whatever a value of the frame refers to.
    Value(Value),
}

pub type Held = BTreeSet<Lock>;

pub struct Monitors {
    at: HashMap<Point, Held>,
    none: Held,
}

impl Monitors {
    pub fn new(solver: &Solver<'_>, threads: &Threads) -> Self {
        let mut flow = Flow { solver, threads, entries: HashMap::new(), released: released(solver) };
        let at = flow.solve();
        Self { at, none: Held::new() }
    }

    pub fn at(&self, point: Point) -> &Held {
        self.at.get(&point).unwrap_or(&self.none)
    }

    /// The lock that keeps two accesses to one place apart; the bases are those of the accesses.
    pub fn common(&self, one: (Point, Option<Value>), other: (Point, Option<Value>)) -> bool {
        let (a, b) = (self.at(one.0), self.at(other.0));
        let own = |held: &Held, base: Option<Value>| base.is_some_and(|base| held.contains(&Lock::Value(base)));
        own(a, one.1) && own(b, other.1) || a.iter().any(|lock| matches!(lock, Lock::Object(_)) && b.contains(lock))
    }
}

/// Objects that a frame, or what it calls, unlocks by calls; those of `synchronized` are left as they are entered.
fn released(solver: &Solver<'_>) -> Vec<BTreeSet<ObjectId>> {
    let mut all = vec![BTreeSet::new(); solver.frames.len()];
    let mut rest: BTreeSet<FrameId> = BTreeSet::new();
    for (at, used) in &solver.used {
        for one in used.iter().filter(|one| one.model.has(Word::Unlock)) {
            all[at.frame.index()].extend(one.receiver);
            rest.insert(at.frame);
        }
    }
    while let Some(frame) = rest.pop_first() {
        let own = all[frame.index()].clone();
        for caller in &solver.frames[frame.index()].callers {
            let known = &mut all[caller.frame.index()];
            let before = known.len();
            known.extend(&own);
            if known.len() > before {
                rest.insert(caller.frame);
            }
        }
    }
    all
}

struct Flow<'s, 'a> {
    solver: &'s Solver<'a>,
    threads: &'s Threads,
    entries: HashMap<(FrameId, Block), Held>,
    released: Vec<BTreeSet<ObjectId>>,
}

impl Flow<'_, '_> {
    fn solve(&mut self) -> HashMap<Point, Held> {
        let mut rest: BTreeSet<(FrameId, Block)> = BTreeSet::new();
        for thread in &self.solver.threads {
            for entry in &thread.entries {
                self.arrive(*entry, 0, Held::new(), &mut rest);
            }
        }
        while let Some((frame, block)) = rest.pop_first() {
            self.block(frame, block, &mut rest, None);
        }
        let mut at = HashMap::new();
        for (frame, block) in self.entries.keys().copied().collect::<Vec<_>>() {
            self.block(frame, block, &mut rest, Some(&mut at));
        }
        at
    }

    fn arrive(&mut self, frame: FrameId, block: Block, held: Held, rest: &mut BTreeSet<(FrameId, Block)>) {
        match self.entries.get_mut(&(frame, block)) {
            Some(known) => {
                let before = known.len();
                known.retain(|lock| held.contains(lock));
                if known.len() < before {
                    rest.insert((frame, block));
                }
            }
            None => {
                self.entries.insert((frame, block), held);
                rest.insert((frame, block));
            }
        }
    }

    fn locks(&self, frame: FrameId, value: Value) -> Vec<Lock> {
        let value = self.solver.frames[frame.index()].body.code.plain(value);
        let mut locks = vec![Lock::Value(value)];
        if let [object] = self.solver.objects_of(frame, value)[..]
            && self.threads.is_single(self.solver, object)
        {
            locks.push(Lock::Object(object));
        }
        locks
    }

    /// At the entry of a synchronized method its lock is held as well.
    fn own(&self, frame: FrameId) -> Vec<Lock> {
        let own = &self.solver.frames[frame.index()];
        let method = self.solver.classes.method(own.method);
        if method.flags & access::SYNCHRONIZED == 0 {
            return Vec::new();
        }
        match own.body.code.parameters.first() {
            Some(this) if method.flags & access::STATIC == 0 => self.locks(frame, *this),
            _ => {
                let class = self.solver.class_constant(method.class_name);
                let of_class =
                    |object: &super::solve::Object| class.is_some_and(|class| object.origin == Origin::Constant(class));
                let at = self.solver.objects.iter().position(of_class);
                // Nobody else names the class: any number that is no object tells it apart.
                let object = at.map_or(ObjectId(u32::MAX - method.class_name.0), |at| ObjectId(at as u32));
                vec![Lock::Object(object)]
            }
        }
    }

    fn leaves(&self, frame: FrameId, value: Value, held: &mut Held) {
        let value = self.solver.frames[frame.index()].body.code.plain(value);
        let objects = self.solver.objects_of(frame, value);
        // Another value may be the same object.
        held.retain(|lock| match lock {
            Lock::Object(object) => !objects.contains(object),
            Lock::Value(other) => {
                let theirs = self.solver.refers(frame, *other);
                *other != value && !objects.iter().any(|object| theirs.contains(object.index()))
            }
        });
    }

    fn block(
        &mut self,
        frame: FrameId,
        block: Block,
        rest: &mut BTreeSet<(FrameId, Block)>,
        mut seen: Option<&mut HashMap<Point, Held>>,
    ) {
        let body = self.solver.frames[frame.index()].body.clone();
        let code = &body.code.blocks[block as usize];
        let mut held = self.entries[&(frame, block)].clone();
        if block == 0 {
            held.extend(self.own(frame));
        }
        let mut always = held.clone();
        for (index, statement) in code.statements.iter().enumerate() {
            let at = Point { frame, block, index: index as u32 };
            if let Some(seen) = &mut seen {
                seen.insert(at, held.clone());
            }
            match &statement.kind {
                Kind::Enter(value) => held.extend(self.locks(frame, *value)),
                Kind::Exit(value) => self.leaves(frame, *value, &mut held),
                Kind::Call(call) => {
                    let used = self.solver.used.get(&at).map_or(&[][..], |used| &used[..]);
                    let mut known = used.iter().filter(|one| one.receiver.is_some()).peekable();
                    // Every receiver that it may be is a lock that excludes others.
                    if known.peek().is_some() && known.all(|one| one.model.has(Word::Lock)) {
                        held.extend(self.locks(frame, call.arguments[0]));
                    }
                    if used.iter().any(|one| one.model.has(Word::Unlock)) {
                        self.leaves(frame, call.arguments[0], &mut held);
                    }
                    for callee in self.solver.callees.get(&at).cloned().unwrap_or_default() {
                        let inside = self.inside(&held, &call.arguments, frame, callee);
                        self.arrive(callee, 0, inside, rest);
                        let released = &self.released[callee.index()];
                        if !released.is_empty() {
                            held.retain(|lock| match lock {
                                Lock::Object(object) => !released.contains(object),
                                Lock::Value(_) => false,
                            });
                        }
                    }
                }
                _ => {}
            }
            always.retain(|lock| held.contains(lock));
        }
        for to in code.caught_by() {
            let there = self.across(frame, block, to, always.clone());
            self.arrive(frame, to, there, rest);
        }
        for to in &code.next {
            let there = self.across(frame, block, *to, held.clone());
            self.arrive(frame, *to, there, rest);
        }
    }

    /// A value of a loop is another one in its next turn.
    fn across(&self, frame: FrameId, from: Block, to: Block, mut held: Held) -> Held {
        let body = &self.solver.frames[frame.index()].body;
        let back = body.graph.dominates(to, from)
            || body.graph.in_loop[from as usize] && body.graph.innermost[from as usize].is_none();
        if back {
            held.retain(|lock| match lock {
                Lock::Value(value) => {
                    let block = body.code.values[value.index()].block;
                    !body.graph.in_loop[block as usize] || matches!(body.code.def(*value), Def::Parameter(_))
                }
                Lock::Object(_) => true,
            });
        }
        held
    }

    fn inside(&self, held: &Held, arguments: &[Value], frame: FrameId, callee: FrameId) -> Held {
        let code = &self.solver.frames[frame.index()].body.code;
        let parameters = &self.solver.frames[callee.index()].body.code.parameters;
        let mut inside: Held = held.iter().copied().filter(|lock| matches!(lock, Lock::Object(_))).collect();
        for (argument, parameter) in arguments.iter().zip(parameters) {
            if held.contains(&Lock::Value(code.plain(*argument))) {
                inside.insert(Lock::Value(*parameter));
            }
        }
        inside
    }
}
