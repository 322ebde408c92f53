//! What reads, writes, allocations, locks and threads do to the memory that a thread knows.

use reweave_script::language::{Function, Operand, Place, Type};

use super::Analysis;
use super::locations::{LocationId, Resolved, index_of, literal_index};
use super::shared::Patience;
use super::state::{Entry, Memory, Source, State, add_sorted};
use crate::bits::Bits;
use crate::domain::value::Value;
use crate::faults::{Fault, is_seeded};
use crate::frames::{FrameId, Point, ThreadId};
use crate::points_to::Object;

impl<'a> Analysis<'a, '_> {
    pub fn function(&self, frame: FrameId) -> &'a Function {
        self.skeleton.program.function(self.skeleton.frames[frame.index()].function)
    }

    /// Where a place may be; none: it is nowhere, and the program fails.
    pub fn resolve(&self, frame: FrameId, place: &Place, state: &State, kind: Type) -> Resolved {
        let index = match index_of(place) {
            Some(Operand::Register(register)) => state.registers[register.index()].clone(),
            Some(Operand::Literal(literal)) => literal_index(literal),
            None => Value::Nothing,
        };
        let mut resolved = self.locations.resolve(self.skeleton, self.points_to, frame, place, &index);
        resolved.locations.retain(|at| self.locations.get(*at).kind == kind);
        resolved.locations.sort_unstable();
        resolved.locations.dedup();
        resolved
    }

    /// What a read may return.
    pub(super) fn read(&self, at: Point, resolved: &Resolved, state: &State, kind: Type) -> Value {
        if resolved.unknown {
            return self.domain.any(kind);
        }
        let mut value = Value::Nothing;
        for location in &resolved.locations {
            let own = state.memory.get(*location);
            value = self.domain.join(kind, &value, &own.value);
            for (_, theirs) in self.shared.seen(self.parallel, self.locks, at, *location, own) {
                value = self.domain.join(kind, &value, theirs);
            }
        }
        value
    }

    /// A write; `surely`: it happens whenever the statement is executed.
    pub(super) fn write(&mut self, at: Point, resolved: &Resolved, state: &mut State, value: &Value, surely: bool) {
        let everywhere: Vec<LocationId>;
        let locations = if resolved.unknown {
            everywhere = self.locations.ids().collect();
            &everywhere
        } else {
            &resolved.locations
        };
        let is_single = |at: LocationId| self.locations.get(at).is_single || is_seeded(Fault::StrongOnSummaries);
        let is_only = surely && locations.len() == 1 && is_single(locations[0]);
        for location in locations {
            let kind = self.locations.get(*location).kind;
            let value = if resolved.unknown { &self.domain.any(kind) } else { value };
            let mut entry = if is_only { Entry::nothing() } else { state.memory.get(*location).clone() };
            entry.value = self.domain.join(kind, &entry.value, value);
            add_sorted(&mut entry.sources, &[Source::Write(at)]);
            entry.guards.clear();
            if is_only {
                let held = self.locks.at(at).iter().filter(|held| !held.shared);
                entry.guards = held.map(|held| held.lock).collect();
            }
            state.memory.set(*location, entry);
            state.touch(*location);
            let patience = Patience { rounds: self.settings.patience, thresholds: &self.thresholds };
            self.shared.write(self.domain, kind, (*location, at), value, patience);
        }
    }

    pub(super) fn allocate(&mut self, at: Point, state: &mut State) {
        let Some(object) = self.points_to.id_of(Object::Site(at)) else { return };
        for location in self.locations.of_object(object) {
            let zero = self.domain.zero(self.locations.get(location).kind);
            self.write(at, &Resolved { locations: vec![location], unknown: false }, state, &zero, true);
        }
    }

    /// A lock is left: what the thread wrote under it and has not overwritten can be seen by the next holder.
    pub(super) fn release(&mut self, at: Point, lock: &Place, state: &mut State) {
        let meaning = crate::locks::meaning(self.skeleton, self.points_to, at.frame, lock);
        let touched: Vec<usize> = state.touched.iter().collect();
        for location in touched.into_iter().map(|at| LocationId(at as u32)) {
            let entry = state.memory.get(location);
            for source in &entry.sources {
                let Source::Write(write) = source else { continue };
                let shows = |lock| meaning.may_be(lock) && !is_seeded(Fault::NothingReleased);
                for held in self.locks.at(*write).iter().filter(|held| shows(held.lock)) {
                    self.shared.release(location, *write, held.lock);
                }
            }
            if entry.guards.iter().any(|lock| meaning.may_be(*lock)) && !is_seeded(Fault::GuardsStay) {
                state.memory.change(location, |entry| entry.guards.retain(|lock| !meaning.may_be(*lock)));
            }
        }
    }

    pub(super) fn start(&mut self, at: Point, arguments: &[Operand], state: &mut State) {
        let child = self.skeleton.started[&at];
        let entry = self.skeleton.threads[child.index()].entry;
        let mut born = self.inside(entry, arguments, state);
        born.touched = Bits::default();
        born.since.clear();
        born.memory = without_guards(&born.memory, self.locations.all.len());
        state.since.insert(child, Bits::default());
        let times = self.shared.birth_times.entry(child).or_insert(0);
        let widen = *times >= self.settings.patience;
        match self.shared.births.remove(&child) {
            None => {
                self.shared.births.insert(child, born);
                self.shared.changed = true;
            }
            Some(mut known) => {
                if self.join_states(entry, &mut known, &born, widen) {
                    self.shared.changed = true;
                    *self.shared.birth_times.entry(child).or_insert(0) += 1;
                }
                self.shared.births.insert(child, known);
            }
        }
    }

    /// Takes over what a thread that has ended left behind.
    pub(super) fn absorb(&mut self, child: ThreadId, state: &mut State) -> bool {
        let Some(exit) = self.exits[child.index()].clone() else { return false };
        if is_seeded(Fault::JoinTakesNothing) {
            return true;
        }
        let changed = state.since.remove(&child);
        for location in exit.touched.iter().map(|at| LocationId(at as u32)) {
            let kind = self.locations.get(location).kind;
            let theirs = exit.memory.get(location);
            let is_theirs = is_seeded(Fault::JoinReplaces)
                || changed.as_ref().is_some_and(|changed| !changed.contains(location.index()));
            let mut entry = if is_theirs { Entry::nothing() } else { state.memory.get(location).clone() };
            entry.value = self.domain.join(kind, &entry.value, &theirs.value);
            add_sorted(&mut entry.sources, &theirs.sources);
            entry.guards.clear();
            state.memory.set(location, entry);
            state.touch(location);
        }
        true
    }

    /// What a function begins with.
    pub(super) fn inside(&self, callee: FrameId, arguments: &[Operand], state: &State) -> State {
        let function = self.function(callee);
        let mut registers: Vec<Value> = function.registers.iter().map(|info| self.domain.zero(info.kind)).collect();
        for (at, argument) in arguments.iter().enumerate() {
            registers[at] = state.operand(self.domain, *argument, function.registers[at].kind);
        }
        State { registers, result: Value::Nothing, comparisons: Default::default(), ..state.clone() }
    }
}

/// A new thread holds no locks.
fn without_guards(memory: &Memory, count: usize) -> Memory {
    let mut memory = memory.clone();
    for location in (0..count as u32).map(LocationId) {
        if !memory.get(location).guards.is_empty() {
            memory.change(location, |entry| entry.guards.clear());
        }
    }
    memory
}
