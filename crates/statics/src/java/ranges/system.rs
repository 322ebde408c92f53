//! The equations, and how they are solved.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Instant;

use super::super::accesses::Location;
use super::super::code::{Constant, Def, Kind, Type, Value};
use super::super::conflicts::AccessId;
use super::super::judge::Facts;
use super::super::solve::{FrameId, Point, ThreadId};
use super::Effort;
use super::equations::typed;
use super::kinds::{self, Slot};
use super::order::{Source, Sources};
use super::refine::{Condition, conditions};
use crate::domain::value::{Domain, Value as Known};

/// What is known of one frame.
pub(super) struct Local {
    pub kinds: Rc<Vec<Type>>,
    pub conditions: Rc<Vec<Vec<Condition>>>,
    /// Where values are defined by statements.
    pub at: Rc<HashMap<Value, Point>>,
    /// What loads may see.
    pub reads: HashMap<Value, Vec<(Location, Vec<Source>)>>,
    stores: Vec<(AccessId, Value)>,
    pub known: Vec<Known>,
    times: Vec<u8>,
    pub result: Known,
    /// Frames that read what it writes.
    readers: BTreeSet<FrameId>,
}

/// How often a phi grows before it is widened; anything else.
const PATIENCE: [u8; 2] = [3, 12];
/// How often it may stop at constants of the program then.
const LONG: u8 = 60;
/// Beyond so many values nothing is computed.
const MOST: usize = 2_000_000;

pub struct System<'f, 's, 'a> {
    pub(super) facts: &'f Facts<'s, 'a>,
    pub domain: Domain,
    patience: u8,
    pub slots: HashMap<Location, Slot>,
    pub(super) locals: Vec<Local>,
    pub(super) written: HashMap<AccessId, (Known, u8)>,
    /// Of locations with many writes: all of them, and frames that read there.
    pub(super) together: HashMap<Location, (Known, BTreeSet<FrameId>)>,
    thresholds: Vec<i64>,
    rest: BTreeSet<FrameId>,
    pub rounds: u32,
    pub lacking: usize,
    /// Too large, or out of time: nothing is known.
    pub(super) gave_up: bool,
    /// A write writes more than before.
    wrote: bool,
}

impl<'f, 's, 'a> System<'f, 's, 'a> {
    pub fn new(facts: &'f Facts<'s, 'a>, effort: Effort) -> Self {
        let solver = facts.solver;
        let slots = kinds::slots(solver, &facts.accesses);
        let total: usize = solver.frames.iter().map(|frame| frame.body.code.values.len()).sum();
        let mut system = Self {
            facts,
            domain: effort.domain,
            patience: effort.patience,
            slots,
            locals: Vec::new(),
            written: HashMap::new(),
            together: HashMap::new(),
            thresholds: if effort.thresholds { constants(facts) } else { Vec::new() },
            rest: BTreeSet::new(),
            rounds: 0,
            lacking: 0,
            gave_up: total > MOST,
            wrote: false,
        };
        if !system.gave_up {
            let sources = Sources::new(facts);
            system.locals = (0..solver.frames.len() as u32).map(|at| system.local(&sources, FrameId(at))).collect();
            system.find_readers();
        }
        system
    }

    fn local(&self, sources: &Sources<'_, '_, '_>, frame: FrameId) -> Local {
        let (solver, accesses) = (self.facts.solver, &self.facts.accesses);
        let own = &solver.frames[frame.index()];
        let code = &own.body.code;
        let kinds = kinds::values(solver, frame);
        let conditions = conditions(code, &own.body.graph, &kinds);
        let (mut at, mut reads, mut stores) = (HashMap::new(), HashMap::new(), Vec::new());
        for (block, inside) in code.blocks.iter().enumerate() {
            for (index, statement) in inside.statements.iter().enumerate() {
                let point = Point { frame, block: block as u32, index: index as u32 };
                let ids = accesses.by_point.get(&point).into_iter().flatten().copied();
                match &statement.kind {
                    Kind::Define(value) => {
                        at.insert(*value, point);
                        let seen = ids.filter(|id| accesses.all[*id].reads).map(|id| {
                            let location = accesses.all[id].location;
                            (location, sources.brief(location, point))
                        });
                        let seen: Vec<_> = seen.collect();
                        if matches!(code.def(*value), Def::Load(_)) && !seen.is_empty() {
                            reads.insert(*value, seen);
                        }
                    }
                    Kind::Store(_, value) => stores.extend(ids.map(|id| (id, *value))),
                    Kind::Call(call) => {
                        at.extend(call.to.map(|to| (to, point)));
                        // What a function object captures.
                        stores.extend(ids.filter_map(|id| Some((id, accesses.all[id].value?))));
                    }
                    _ => {}
                }
            }
        }
        let count = code.values.len();
        Local {
            kinds: Rc::new(kinds),
            conditions: Rc::new(conditions),
            at: Rc::new(at),
            reads,
            stores,
            known: vec![Known::Nothing; count],
            times: vec![0; count],
            result: Known::Nothing,
            readers: BTreeSet::new(),
        }
    }

    fn find_readers(&mut self) {
        let (mut found, mut all) = (Vec::new(), Vec::new());
        for (at, local) in self.locals.iter().enumerate() {
            for (_, sources) in local.reads.values().flatten() {
                let writes = sources.iter().filter_map(|source| match source {
                    Source::Write(id) => Some(self.facts.accesses.all[*id].at.frame),
                    Source::System | Source::All => None,
                });
                found.extend(writes.map(|from| (from, FrameId(at as u32))));
            }
            let many = local.reads.values().flatten().filter(|(_, sources)| sources.contains(&Source::All));
            all.extend(many.map(|(location, _)| (*location, FrameId(at as u32))));
        }
        all.into_iter().for_each(|(location, reader)| {
            self.together.entry(location).or_insert((Known::Nothing, BTreeSet::new())).1.insert(reader);
        });
        found.into_iter().for_each(|(from, to)| {
            self.locals[from.index()].readers.insert(to);
        });
    }

    /// Round after round over the threads, each by itself.
    pub fn solve(&mut self) {
        self.widen();
        if !self.gave_up {
            self.narrow();
        }
    }

    fn widen(&mut self) {
        let solver = self.facts.solver;
        let count = self.locals.len() as u32;
        let of = |thread: usize| {
            (0..count).map(FrameId).filter(move |at| solver.frames[at.index()].thread == ThreadId(thread as u32))
        };
        self.rest = (0..count).map(FrameId).collect();
        let mut round = 0;
        while !self.rest.is_empty() && !self.gave_up {
            round += 1;
            self.wrote = false;
            for thread in 0..solver.threads.len() {
                let own: BTreeSet<FrameId> = of(thread).collect();
                while let Some(frame) = self.rest.iter().find(|at| own.contains(at)).copied() {
                    self.rest.remove(&frame);
                    self.frame(frame);
                    self.gave_up |= solver.deadline.is_some_and(|deadline| Instant::now() > deadline);
                    if self.gave_up {
                        return;
                    }
                }
            }
            if self.wrote {
                self.rounds = round + 1;
            }
        }
    }

    /// Steps down, and the check of the solution.
    fn narrow(&mut self) {
        let count = self.locals.len() as u32;
        let widened: Vec<Vec<Known>> = self.locals.iter().map(|local| local.known.clone()).collect();
        let (results, written): (Vec<Known>, _) =
            (self.locals.iter().map(|local| local.result.clone()).collect(), self.written.clone());
        for _ in 0..2 {
            (0..count).for_each(|at| self.descend(FrameId(at)));
        }
        self.check();
        if self.lacking > 0 {
            for ((local, known), result) in self.locals.iter_mut().zip(widened).zip(results) {
                (local.known, local.result) = (known, result);
            }
            self.written = written;
            self.check();
        }
    }

    fn frame(&mut self, frame: FrameId) {
        let solver = self.facts.solver;
        let count = self.locals[frame.index()].known.len();
        let mut any = false;
        loop {
            let mut changed = false;
            for at in 0..count {
                changed |= self.grow(frame, Value(at as u32));
            }
            any |= changed;
            if !changed {
                break;
            }
        }
        let result = self.returned(frame);
        let kind = self.result_kind(frame);
        let local = &mut self.locals[frame.index()];
        if !self.domain.is_within(kind, &result, &local.result) {
            local.result = self.domain.join(kind, &local.result, &result);
            let callers = solver.frames[frame.index()].callers.iter().map(|caller| caller.frame);
            self.rest.extend(callers);
        }
        if any {
            let mut calls = solver.callees.range(whole(frame)).flat_map(|(_, callees)| callees.iter().copied());
            self.rest.extend(&mut calls);
        }
        if self.write(frame) {
            let readers = self.locals[frame.index()].readers.clone();
            self.rest.extend(readers);
        }
    }

    fn grow(&mut self, frame: FrameId, value: Value) -> bool {
        let new = self.equation(frame, value);
        let local = &self.locals[frame.index()];
        let thresholds = if local.times[value.index()] < LONG { &self.thresholds[..] } else { &[] };
        let (kind, old) = (local.kinds[value.index()], &local.known[value.index()]);
        if self.domain.is_within(kind, &new, old) {
            return false;
        }
        let is_phi = matches!(self.facts.solver.frames[frame.index()].body.code.def(value), Def::Phi(_));
        let widens = local.times[value.index()] >= PATIENCE[if is_phi { 0 } else { 1 }];
        let grown = match widens {
            true => self.domain.widen(kind, old, &self.domain.join(kind, old, &new), thresholds),
            false => self.domain.join(kind, old, &new),
        };
        let local = &mut self.locals[frame.index()];
        local.known[value.index()] = grown;
        local.times[value.index()] = local.times[value.index()].saturating_add(1);
        true
    }

    /// Whether its writes write more than before.
    fn write(&mut self, frame: FrameId) -> bool {
        let mut changed = false;
        for (id, slot, new) in self.writes(frame) {
            let (old, times) = self.written.get(&id).cloned().unwrap_or((Known::Nothing, 0));
            if self.domain.is_within(slot.kind(), &new, &old) {
                continue;
            }
            let both = self.domain.join(slot.kind(), &old, &new);
            let thresholds = if times < LONG { &self.thresholds[..] } else { &[] };
            let grown = match times >= self.patience {
                true => self.domain.widen(slot.kind(), &old, &both, thresholds),
                false => both,
            };
            let grown = slot.fit(self.domain, grown);
            if let Some((all, readers)) = self.together.get_mut(&self.facts.accesses.all[id].location) {
                *all = self.domain.join(slot.kind(), all, &grown);
                self.rest.extend(readers.iter().copied());
            }
            self.written.insert(id, (grown, times.saturating_add(1)));
            changed = true;
        }
        self.wrote |= changed;
        changed
    }

    fn writes(&self, frame: FrameId) -> Vec<(AccessId, Slot, Known)> {
        let accesses = &self.facts.accesses;
        let all = self.locals[frame.index()].stores.iter().filter_map(|(id, value)| {
            let access = &accesses.all[*id];
            let slot = *self.slots.get(&access.location)?;
            let new = typed(self.domain, slot.kind(), self.at(frame, *value, access.at.block, slot.kind()));
            Some((*id, slot, slot.fit(self.domain, new)))
        });
        all.collect()
    }

    /// One step down where that is possible.
    fn descend(&mut self, frame: FrameId) {
        for at in 0..self.locals[frame.index()].known.len() {
            let new = self.equation(frame, Value(at as u32));
            let local = &mut self.locals[frame.index()];
            if self.domain.is_within(local.kinds[at], &new, &local.known[at]) {
                local.known[at] = new;
            }
        }
        let (result, kind) = (self.returned(frame), self.result_kind(frame));
        if self.domain.is_within(kind, &result, &self.locals[frame.index()].result) {
            self.locals[frame.index()].result = result;
        }
        for (id, slot, new) in self.writes(frame) {
            if let Some((old, _)) =
                self.written.get_mut(&id).filter(|(old, _)| self.domain.is_within(slot.kind(), &new, old))
            {
                *old = new;
            }
        }
    }

    /// Every equation once more.
    fn check(&mut self) {
        let mut lacking = 0;
        for at in 0..self.locals.len() {
            let (frame, local) = (FrameId(at as u32), &self.locals[at]);
            lacking += (0..local.known.len())
                .filter(|value| {
                    let new = self.equation(frame, Value(*value as u32));
                    !self.domain.is_within(local.kinds[*value], &new, &local.known[*value])
                })
                .count();
            let known = |id: AccessId| self.written.get(&id).map_or(&Known::Nothing, |(known, _)| known);
            let writes = self.writes(frame);
            lacking +=
                writes.iter().filter(|(id, slot, new)| !self.domain.is_within(slot.kind(), new, known(*id))).count();
            lacking +=
                usize::from(!self.domain.is_within(self.result_kind(frame), &self.returned(frame), &local.result));
        }
        self.lacking = lacking;
    }
}

/// All points of a frame.
fn whole(frame: FrameId) -> std::ops::Range<Point> {
    let from = Point { frame, block: 0, index: 0 };
    from..Point { frame: FrameId(frame.0 + 1), ..from }
}

/// All whole numbers that are written down in a program, and their neighbours.
fn constants(facts: &Facts<'_, '_>) -> Vec<i64> {
    let mut all: BTreeSet<i64> = [-1, 0, 1].into();
    for frame in &facts.solver.frames {
        for info in &frame.body.code.values {
            if let Def::Constant(Constant::Whole(value)) = info.def {
                all.extend([value.saturating_sub(1), value, value.saturating_add(1)]);
            }
        }
    }
    all.into_iter().collect()
}
