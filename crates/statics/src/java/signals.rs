//! What a thread knows to be over because it saw a signal: a latch at zero, or a flag that somebody set.
//!
//! A **signal** is something that happens once: the only store of a flag that is not zero, or the last of all
//! `countDown` of a latch. Who takes the branch where the flag is set, or comes back from `await`, is after it; whoever
//! gives the signal does nothing that comes before it any more. Lattice: sets of signals that were surely seen, by
//! reverse inclusion. A flag counts only if it is volatile, or if one lock is held where it is set and where it is read.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::accesses::{Access, Accesses, Location};
use super::code::{Block, Constant, Def, Kind, Place, Test, Value};
use super::join_loops::{Finder, bound_of, head_test, induction};
use super::models::Word;
use super::monitors::Monitors;
use super::solve::{Birth, FrameId, ObjectId, Point, Solver, ThreadId};
use super::threads::Threads;
use crate::bits::Bits;

#[derive(Default)]
pub struct Signals {
    /// Of each signal, what its givers cannot do any more once it was given.
    over: Vec<HashSet<Point>>,
    seen: HashMap<Point, Bits>,
}

impl Signals {
    pub fn new(solver: &Solver<'_>, threads: &Threads, accesses: &Accesses, monitors: &Monitors) -> Self {
        let mut search = Search { solver, threads, accesses, monitors, given: Vec::new(), edges: HashMap::new() };
        let mut calls = HashMap::new();
        search.latches(&mut calls);
        search.flags();
        if search.given.is_empty() {
            return Self::default();
        }
        let over = search.given.iter().map(|points| search.over(points)).collect();
        let mut flow = Flow { solver, edges: search.edges, calls, entries: HashMap::new(), exits: HashMap::new() };
        Self { over, seen: flow.solve() }
    }

    /// Whether one of two points is over before the other is reached.
    pub fn order(&self, one: Point, other: Point) -> bool {
        let after = |first: Point, then: Point| {
            self.seen.get(&then).is_some_and(|seen| seen.iter().any(|signal| self.over[signal].contains(&first)))
        };
        after(one, other) || after(other, one)
    }
}

struct Search<'s, 'a> {
    solver: &'s Solver<'a>,
    threads: &'s Threads,
    accesses: &'s Accesses,
    monitors: &'s Monitors,
    /// Where each signal is given.
    given: Vec<Vec<Point>>,
    /// Edges that are taken only after a signal.
    edges: HashMap<(FrameId, Block, Block), Vec<usize>>,
}

impl Search<'_, '_> {
    fn latches(&mut self, calls: &mut HashMap<Point, usize>) {
        let mut latches: BTreeSet<ObjectId> = BTreeSet::new();
        for used in self.solver.used.values().flatten().filter(|one| one.model.has(Word::Awaits)) {
            latches.extend(used.receiver);
        }
        for latch in latches {
            if !self.threads.is_single(self.solver, latch) || self.accesses.unknown_objects.contains(latch.index()) {
                continue;
            }
            let Some(points) = self.counted(latch) else { continue };
            let signal = self.given.len();
            self.given.push(points);
            for (at, used) in &self.solver.used {
                let waits = used.iter().any(|one| one.model.has(Word::Awaits) && one.receiver == Some(latch));
                let receiver = self.solver.call_at(*at).and_then(|call| call.arguments.first());
                let alone = receiver.is_some_and(|receiver| self.solver.objects_of(at.frame, *receiver) == [latch]);
                if waits && alone && self.solver.waits_for_good(*at) {
                    calls.insert(*at, signal);
                }
            }
        }
    }

    /// Where a latch is counted down, if all of that is needed to open it.
    fn counted(&self, latch: ObjectId) -> Option<Vec<Point>> {
        let mut made = self.solver.used.iter().filter_map(|(at, used)| {
            let call = self.solver.call_at(*at)?;
            let is_new = self.solver.classes.names.text(call.method.name) == "<init>";
            (is_new && used.iter().any(|one| one.receiver == Some(latch))).then_some((*at, *call.arguments.get(1)?))
        });
        let (constructor, count) = made.next()?;
        made.next().is_none().then_some(())?;
        let uses = |at: &&Point| {
            self.solver.used[*at].iter().any(|one| one.model.has(Word::Counts) && one.receiver == Some(latch))
        };
        let points: Vec<Point> = self.solver.used.keys().filter(uses).copied().collect();
        let at_most_once = |at: &Point| {
            let graph = &self.solver.frames[at.frame.index()].body.graph;
            !self.threads.is_repeated(at.frame) && !graph.in_loop[at.block as usize]
        };
        points.iter().all(at_most_once).then_some(())?;
        let thread = |at: &Point| self.solver.frames[at.frame.index()].thread;
        if points.iter().all(|at| !self.threads.many[thread(at).index()]) {
            let code = self.solver.code(constructor);
            let expected = Constant::Whole(points.len() as i64);
            return (code.constant(code.plain(count)) == Some(expected)).then_some(points);
        }
        let &[only] = &points[..] else { return None };
        self.as_many(thread(&only), (constructor.frame, count)).then_some(points)
    }

    /// Whether there are no more instances of a thread than a number says.
    fn as_many(&self, thread: ThreadId, count: (FrameId, Value)) -> bool {
        as_many(self.solver, self.threads, thread, count)
    }

    fn flags(&mut self) {
        for frame in 0..self.solver.frames.len() {
            let frame = FrameId(frame as u32);
            let body = self.solver.frames[frame.index()].body.clone();
            for (block, code) in body.code.blocks.iter().enumerate().filter(|(at, _)| body.graph.reached[*at]) {
                let Some(Kind::Branch(test, value, None)) = code.statements.last().map(|last| &last.kind) else {
                    continue;
                };
                let taken = match test {
                    Test::Eq => code.next.get(1),
                    Test::Ne => code.next.first(),
                    _ => None,
                };
                let Some(taken) = taken.filter(|_| code.next.len() == 2 && code.next[0] != code.next[1]) else {
                    continue;
                };
                let load = body.code.values[value.index()].block;
                let statements = &body.code.blocks[load as usize].statements;
                let at = statements.iter().position(|one| matches!(one.kind, Kind::Define(own) if own == *value));
                let Some(index) = at else { continue };
                if let Some(store) = self.only_store(Point { frame, block: load, index: index as u32 }) {
                    let signal = self.given.iter().position(|points| *points == [store]).unwrap_or_else(|| {
                        self.given.push(vec![store]);
                        self.given.len() - 1
                    });
                    self.edges.entry((frame, block as Block, *taken)).or_default().push(signal);
                }
            }
        }
    }

    /// The store that a load must have seen if it returns anything but zero.
    fn only_store(&self, load: Point) -> Option<Point> {
        let Def::Load(Place::Static(_) | Place::Field(..)) = self.defined(load) else { return None };
        let &[read] = &self.accesses.by_point.get(&load)?[..] else { return None };
        let read = &self.accesses.all[read];
        if let Location::Field(object, _) = read.location
            && !self.threads.is_single(self.solver, object)
        {
            return None;
        }
        (!self.accesses.is_unknown(read.location)).then_some(())?;
        let all = self.accesses.by_location[&read.location].iter().map(|id| &self.accesses.all[*id]);
        let is_zero = |access: &&Access| self.stored(access) == Some(0);
        let mut stores = all.filter(|access| access.writes).filter(|access| !is_zero(access));
        let store = stores.next()?;
        (stores.next().is_none() && self.stored(store).is_some() && !store.library).then_some(())?;
        let thread = self.solver.frames[store.at.frame.index()].thread;
        let is_one = !self.threads.many[thread.index()]
            && !matches!(self.solver.threads[thread.index()].birth, Birth::Initialiser(_) | Birth::Anywhere);
        let locked = || self.monitors.common((store.at, store.base), (read.at, read.base));
        (is_one && (read.volatile && store.volatile || locked())).then_some(store.at)
    }

    fn defined(&self, at: Point) -> &Def {
        match self.solver.statement_at(at).kind {
            Kind::Define(value) => self.solver.code(at).def(value),
            _ => &Def::Undefined,
        }
    }

    fn stored(&self, access: &Access) -> Option<i64> {
        match self.solver.code(access.at).constant(access.value?)? {
            Constant::Whole(number) => Some(number),
            _ => None,
        }
    }

    /// Points of the givers that cannot come after they gave the signal.
    fn over(&self, given: &[Point]) -> HashSet<Point> {
        let mut over = HashSet::new();
        for signal in given {
            let thread = self.solver.frames[signal.frame.index()].thread;
            let after = self.after(*signal);
            let own = self.solver.points().filter(|at| self.solver.frames[at.frame.index()].thread == thread);
            over.extend(own.filter(|at| !after.contains(at)));
        }
        over
    }

    /// Everything that the same thread may do after a point; calls return to all callers.
    fn after(&self, from: Point) -> HashSet<Point> {
        let mut after = HashSet::new();
        let mut blocks: HashSet<(FrameId, Block)> = HashSet::new();
        let mut rest: Vec<Point> = vec![Point { index: from.index + 1, ..from }];
        let mut left: HashSet<FrameId> = HashSet::new();
        while let Some(at) = rest.pop() {
            let code = &self.solver.frames[at.frame.index()].body.code.blocks[at.block as usize];
            for index in at.index..code.statements.len() as u32 {
                let point = Point { index, ..at };
                if !after.insert(point) {
                    continue;
                }
                for callee in self.solver.callees.get(&point).into_iter().flatten() {
                    if blocks.insert((*callee, 0)) {
                        rest.push(Point { frame: *callee, block: 0, index: 0 });
                    }
                }
            }
            for to in code.next.iter().copied().chain(code.caught_by()) {
                if blocks.insert((at.frame, to)) {
                    rest.push(Point { frame: at.frame, block: to, index: 0 });
                }
            }
            if left.insert(at.frame) {
                let callers = self.solver.frames[at.frame.index()].callers.iter();
                rest.extend(callers.map(|caller| Point { index: caller.index + 1, ..*caller }));
                // Main runs initialisers of its own class first.
                let own = &self.solver.threads[self.solver.frames[at.frame.index()].thread.index()];
                if own.birth == Birth::Main {
                    let behind = own.entries.iter().skip_while(|entry| **entry != at.frame).skip(1);
                    rest.extend(behind.map(|entry| Point { frame: *entry, block: 0, index: 0 }));
                }
            }
        }
        after
    }
}

/// Whether a thread has as many instances as a number says, and no more.
pub(super) fn as_many(solver: &Solver<'_>, threads: &Threads, thread: ThreadId, count: (FrameId, Value)) -> bool {
    let own = &solver.threads[thread.index()];
    let (Some(start), 1) = (own.starts.first().copied(), own.starts.len()) else { return false };
    let frame = &solver.frames[start.frame.index()];
    let (code, graph) = (&frame.body.code, &frame.body.graph);
    let around: Vec<_> = graph.loops.iter().filter(|one| one.blocks.contains(&start.block)).collect();
    let &[around] = &around[..] else { return false };
    let once = !threads.is_repeated(start.frame) && !threads.many[frame.thread.index()] && !own.is_folded;
    let Some(test) = head_test(code, around).filter(|_| once) else { return false };
    let Kind::Branch(_, left, Some(right)) = test.2 else { return false };
    let single = |object| threads.is_single(solver, object);
    let repeated = |frame| threads.is_repeated(frame);
    let finder = Finder { solver, is_single: &single, is_repeated: &repeated };
    [*left, *right].into_iter().any(|index| {
        induction(code, around, code.plain(index)) == Some((0, 1))
            && bound_of(code, test, index).is_some_and(|bound| finder.as_long_as((start.frame, bound), count))
    })
}

struct Flow<'s, 'a> {
    solver: &'s Solver<'a>,
    edges: HashMap<(FrameId, Block, Block), Vec<usize>>,
    calls: HashMap<Point, usize>,
    entries: HashMap<(FrameId, Block), Bits>,
    exits: HashMap<FrameId, Bits>,
}

impl Flow<'_, '_> {
    fn solve(&mut self) -> HashMap<Point, Bits> {
        let mut rest: BTreeSet<(FrameId, Block)> = BTreeSet::new();
        for thread in &self.solver.threads {
            let is_root = matches!(thread.birth, Birth::Main | Birth::Initialiser(_) | Birth::Anywhere);
            for entry in thread.entries.iter().filter(|_| is_root) {
                self.arrive(*entry, 0, &Bits::default(), &mut rest);
            }
        }
        while let Some((frame, block)) = rest.pop_first() {
            self.block(frame, block, &mut rest, None);
        }
        let mut seen = HashMap::new();
        for (frame, block) in self.entries.keys().copied().collect::<Vec<_>>() {
            self.block(frame, block, &mut rest, Some(&mut seen));
        }
        seen
    }

    fn arrive(&mut self, frame: FrameId, block: Block, state: &Bits, rest: &mut BTreeSet<(FrameId, Block)>) {
        match self.entries.get_mut(&(frame, block)) {
            Some(known) => {
                if known.keep_all(state) {
                    rest.insert((frame, block));
                }
            }
            None => {
                self.entries.insert((frame, block), state.clone());
                rest.insert((frame, block));
            }
        }
    }

    fn block(
        &mut self,
        frame: FrameId,
        block: Block,
        rest: &mut BTreeSet<(FrameId, Block)>,
        mut seen: Option<&mut HashMap<Point, Bits>>,
    ) {
        let body = self.solver.frames[frame.index()].body.clone();
        let code = &body.code.blocks[block as usize];
        let mut state = self.entries[&(frame, block)].clone();
        for to in code.caught_by() {
            self.arrive(frame, to, &state, rest);
        }
        for (index, statement) in code.statements.iter().enumerate() {
            let at = Point { frame, block, index: index as u32 };
            if let Some(seen) = &mut seen {
                seen.insert(at, state.clone());
            }
            match &statement.kind {
                Kind::Call(_) => match self.call(at, &state, rest) {
                    Some(after) => state = after,
                    None => return,
                },
                Kind::Return(_) => return self.leave(frame, &state, rest),
                _ => {}
            }
        }
        for to in &code.next {
            let mut state = state.clone();
            for signal in self.edges.get(&(frame, block, *to)).into_iter().flatten() {
                state.insert(*signal);
            }
            self.arrive(frame, *to, &state, rest);
        }
    }

    /// What was seen after a call; none while it is not known to return.
    fn call(&mut self, at: Point, before: &Bits, rest: &mut BTreeSet<(FrameId, Block)>) -> Option<Bits> {
        for thread in self.solver.started.get(&at).into_iter().flatten() {
            for entry in self.solver.threads[thread.index()].entries.clone() {
                self.arrive(entry, 0, before, rest);
            }
        }
        let mut after = before.clone();
        if let Some(signal) = self.calls.get(&at) {
            after.insert(*signal);
        }
        let Some(callees) = self.solver.callees.get(&at) else { return Some(after) };
        let mut common: Option<Bits> = self.solver.used.contains_key(&at).then(|| before.clone());
        for callee in callees {
            self.arrive(*callee, 0, before, rest);
            let Some(exit) = self.exits.get(callee) else { continue };
            match &mut common {
                Some(common) => {
                    common.keep_all(exit);
                }
                none => *none = Some(exit.clone()),
            }
        }
        after.add_all(&common?);
        Some(after)
    }

    fn leave(&mut self, frame: FrameId, state: &Bits, rest: &mut BTreeSet<(FrameId, Block)>) {
        let changed = match self.exits.get_mut(&frame) {
            Some(known) => known.keep_all(state),
            None => {
                self.exits.insert(frame, state.clone());
                true
            }
        };
        if changed {
            let callers = self.solver.frames[frame.index()].callers.iter();
            let known = callers.map(|caller| (caller.frame, caller.block));
            rest.extend(known.filter(|at| self.entries.contains_key(at)));
        }
    }
}
