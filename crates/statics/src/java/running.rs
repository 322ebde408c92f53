//! The flow behind [`super::threads`]: who may be running, and may have begun, at every point.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::code::{Block, Handler, Kind};
use super::exceptions::Exceptions;
use super::join_loops;
use super::models::Word;
use super::pools;
use super::solve::{Birth, FrameId, ObjectId, Point, Solver, ThreadId};
use super::threads::{Threads, gathered, threads_of};
use crate::bits::Bits;

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct State {
    pub running: Bits,
    /// Running, and maybe more than one of them.
    pub several: Bits,
    /// May have been started before.
    pub begun: Bits,
}

impl State {
    fn join(&mut self, other: &Self) -> bool {
        let mut grew = self.running.add_all(&other.running);
        grew |= self.several.add_all(&other.several);
        grew | self.begun.add_all(&other.begun)
    }
}

pub(super) struct Flow<'s, 'a> {
    solver: &'s Solver<'a>,
    threads: &'s Threads,
    entries: HashMap<(FrameId, Block), State>,
    exits: BTreeMap<FrameId, State>,
    /// What holds where threads end by exceptions.
    failures: BTreeMap<ThreadId, State>,
    /// Everything that holds anywhere in a frame and what it calls.
    inside: BTreeMap<FrameId, State>,
    below: Vec<Bits>,
    rest: BTreeSet<(FrameId, Block)>,
    /// Blocks that wait for the end of a thread.
    waiting: BTreeMap<ThreadId, BTreeSet<(FrameId, Block)>>,
    exceptions: &'s Exceptions<'s, 'a>,
    /// Edges out of loops that join all threads.
    joined: BTreeMap<(FrameId, Block, Block), Vec<ThreadId>>,
}

impl<'s, 'a> Flow<'s, 'a> {
    pub fn new(solver: &'s Solver<'a>, threads: &'s Threads, exceptions: &'s Exceptions<'s, 'a>) -> Self {
        let count = solver.threads.len();
        let mut below = vec![Bits::default(); count];
        for at in 0..count {
            threads.above[at].iter().for_each(|above| {
                below[above.index()].insert(at);
            });
        }
        let single = |object| threads.is_single(solver, object);
        let joined = join_loops::find(solver, &single, &|frame| threads.repeated[frame.index()]);
        Self {
            solver,
            threads,
            entries: HashMap::new(),
            exits: BTreeMap::new(),
            failures: BTreeMap::new(),
            inside: BTreeMap::new(),
            below,
            rest: BTreeSet::new(),
            waiting: BTreeMap::new(),
            exceptions,
            joined,
        }
    }

    pub fn solve(&mut self) {
        for thread in &self.solver.threads {
            let sequence = thread.birth == Birth::Main;
            let first: Vec<FrameId> = match sequence {
                true => thread.entries.iter().take(1).copied().collect(),
                false => thread.entries.clone(),
            };
            first.into_iter().for_each(|entry| self.arrive(entry, 0, &State::default()));
        }
        while let Some((frame, block)) = self.rest.pop_first() {
            self.block(frame, block, None);
        }
    }

    pub fn states(mut self) -> HashMap<Point, State> {
        let mut at = HashMap::new();
        let all: Vec<(FrameId, Block)> = self.entries.keys().copied().collect();
        for (frame, block) in all {
            self.block(frame, block, Some(&mut at));
        }
        at
    }

    fn arrive(&mut self, frame: FrameId, block: Block, state: &State) {
        let changed = match self.entries.get_mut(&(frame, block)) {
            Some(known) => known.join(state),
            None => {
                self.entries.insert((frame, block), state.clone());
                true
            }
        };
        if changed {
            self.rest.insert((frame, block));
        }
    }

    fn holds_inside(&mut self, frame: FrameId, state: &State) {
        let known = self.inside.entry(frame).or_default();
        if known.join(state) {
            self.again(frame);
        }
    }

    /// Callers go on with something else.
    fn again(&mut self, frame: FrameId) {
        for caller in &self.solver.frames[frame.index()].callers {
            if self.entries.contains_key(&(caller.frame, caller.block)) {
                self.rest.insert((caller.frame, caller.block));
            }
        }
    }

    fn ends(&mut self, frame: FrameId, state: &State) {
        let changed = match self.exits.get_mut(&frame) {
            Some(known) => known.join(state),
            None => {
                self.exits.insert(frame, state.clone());
                true
            }
        };
        if !changed {
            return;
        }
        self.again(frame);
        let thread = self.solver.frames[frame.index()].thread;
        let own = &self.solver.threads[thread.index()];
        if own.birth == Birth::Main
            && let Some(at) = own.entries.iter().position(|entry| *entry == frame)
            && let Some(next) = own.entries.get(at + 1)
        {
            self.arrive(*next, 0, state);
        }
        if own.entries.contains(&frame) {
            let waiting = self.waiting.get(&thread).cloned().unwrap_or_default();
            self.rest.extend(waiting);
        }
    }

    /// A thread may end by an exception that nobody catches: those that wait for it go on all the same.
    fn ends_early(&mut self, frame: FrameId, state: &State) {
        let thread = self.solver.frames[frame.index()].thread;
        if !self.solver.threads[thread.index()].entries.contains(&frame) {
            return;
        }
        let changed = match self.failures.get_mut(&thread) {
            Some(known) => known.join(state),
            None => {
                self.failures.insert(thread, state.clone());
                true
            }
        };
        if changed {
            self.rest.extend(self.waiting.get(&thread).cloned().unwrap_or_default());
        }
    }

    fn block(&mut self, frame: FrameId, block: Block, mut seen: Option<&mut HashMap<Point, State>>) {
        let body = self.solver.frames[frame.index()].body.clone();
        let code = &body.code.blocks[block as usize];
        let mut state = self.entries[&(frame, block)].clone();
        for (index, statement) in code.statements.iter().enumerate() {
            let at = Point { frame, block, index: index as u32 };
            if let Some(seen) = &mut seen {
                seen.insert(at, state.clone());
            }
            self.holds_inside(frame, &state);
            self.fails(at, &code.handlers, &state);
            match &statement.kind {
                Kind::Call(_) => {
                    let after = self.call(at, state);
                    for callee in self.solver.callees.get(&at).into_iter().flatten() {
                        if let Some(inside) = self.inside.get(callee).cloned() {
                            self.holds_inside(frame, &inside);
                            self.fails(at, &code.handlers, &inside);
                        }
                    }
                    let Some(after) = after else { return };
                    state = after;
                    self.holds_inside(frame, &state);
                }
                Kind::Return(_) => return self.ends(frame, &state),
                _ => {}
            }
        }
        for to in &code.next {
            let mut state = state.clone();
            for thread in self.joined.get(&(frame, block, *to)).cloned().unwrap_or_default() {
                match self.after_end(thread, (frame, block), &state) {
                    Some(after) => state = after,
                    None => return,
                }
            }
            self.arrive(frame, *to, &state);
        }
    }

    /// A statement may throw something here: handlers get it, or the thread ends with it.
    fn fails(&mut self, at: Point, handlers: &[Handler], state: &State) {
        let thrown = self.exceptions.possible(at);
        if thrown.is_nothing() {
            return;
        }
        for to in self.exceptions.caught_by(&thrown, handlers) {
            self.arrive(at.frame, to, state);
        }
        if !self.exceptions.uncaught(&thrown, handlers).is_nothing() {
            self.ends_early(at.frame, state);
        }
    }

    fn call(&mut self, at: Point, mut state: State) -> Option<State> {
        for thread in self.solver.started.get(&at).into_iter().flatten() {
            if !state.running.insert(thread.index()) {
                state.several.insert(thread.index());
            }
            let below = self.below[thread.index()].clone();
            state.running.add_all(&below);
            state.several.add_all(&below);
            state.begun.insert(thread.index());
            state.begun.add_all(&below);
        }
        for thread in self.joins(at, &state) {
            state = self.after_end(thread, (at.frame, at.block), &state)?;
        }
        let Some(callees) = self.solver.callees.get(&at) else { return Some(state) };
        let mut after: Option<State> = self.solver.used.contains_key(&at).then(|| state.clone());
        for callee in callees {
            self.arrive(*callee, 0, &state);
            if let Some(exit) = self.exits.get(callee) {
                match &mut after {
                    Some(after) => {
                        after.join(exit);
                    }
                    none => *none = Some(exit.clone()),
                }
            }
        }
        after
    }

    /// All instances of a thread have ended; none while it is not known that it ends.
    fn after_end(&mut self, thread: ThreadId, waits: (FrameId, Block), state: &State) -> Option<State> {
        self.waiting.entry(thread).or_default().insert(waits);
        let own = &self.solver.threads[thread.index()];
        let exits = own.entries.iter().filter_map(|entry| self.exits.get(entry));
        let exits: Vec<&State> = exits.chain(self.failures.get(&thread)).collect();
        if exits.is_empty() && !own.entries.is_empty() {
            return None;
        }
        let mut gone = self.below[thread.index()].clone();
        exits.iter().for_each(|exit| gone.remove_all(&exit.running));
        gone.insert(thread.index());
        let mut state = state.clone();
        state.running.remove_all(&gone);
        state.several.remove_all(&gone);
        Some(state)
    }

    /// Threads that have all ended after a call.
    fn joins(&self, at: Point, state: &State) -> Vec<ThreadId> {
        let Some(used) = self.solver.used.get(&at) else { return Vec::new() };
        let Some(call) = self.solver.call_at(at) else { return Vec::new() };
        // A thread that somebody else starts may not have been started yet.
        let own = Some(self.solver.frames[at.frame.index()].thread);
        let is_own = |thread: &ThreadId| self.solver.threads[thread.index()].creator == own;
        let has_limit = self.solver.classes.names.text(call.method.descriptor).contains("TimeUnit;");
        if used.iter().any(|one| one.model.has(Word::Joins)) && !has_limit {
            let started = self.solver.started.get(&at).into_iter().flatten().copied();
            let elsewhere = |thread: &ThreadId| self.solver.threads[thread.index()].starts.len() == 1;
            return started.filter(is_own).filter(elsewhere).collect();
        }
        let single = |object: ObjectId| self.threads.is_single(self.solver, object);
        let awaits = !used.is_empty() && used.iter().all(|one| one.model.has(Word::Await));
        if awaits && self.solver.waits_for_good(at) {
            return pools::tasks(self.solver, at, &single);
        }
        if !self.solver.waits_for_good(at) || !used.iter().any(|one| one.model.has(Word::Join)) {
            return Vec::new();
        }
        let objects = self.solver.objects_of(at.frame, call.arguments[0]);
        let &[object] = &objects[..] else { return Vec::new() };
        if let Some(all) = gathered(self.solver, object) {
            let parts = all.iter().filter(|object| single(**object));
            let threads = parts.flat_map(|object| threads_of(self.solver, *object));
            return threads.filter(is_own).collect();
        }
        let mut meant = threads_of(self.solver, object);
        meant.retain(is_own);
        if self.threads.is_single(self.solver, object) {
            return meant;
        }
        let code = self.solver.code(at);
        let receiver = code.plain(call.arguments[0]);
        let same_receiver = |start: &Point| {
            let graph = &self.solver.frames[at.frame.index()].body.graph;
            let before = match start.block == at.block {
                true => start.index < at.index,
                false => graph.dominates(start.block, at.block),
            };
            start.frame == at.frame
                && before
                && graph.same_loop(start.block, at.block)
                && self
                    .solver
                    .call_at(*start)
                    .and_then(|call| call.arguments.first())
                    .is_some_and(|one| code.plain(*one) == receiver)
        };
        let is_latest = |thread: &ThreadId| {
            let own = &self.solver.threads[thread.index()];
            !state.several.contains(thread.index())
                && !own.is_folded
                && own.starts.len() == 1
                && own.starts.iter().all(same_receiver)
        };
        meant.into_iter().filter(is_latest).collect()
    }
}
