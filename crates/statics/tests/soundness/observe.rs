//! Runs all executions and holds what is seen against what the analysis says.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use reweave_script::language::{StatementKind, Type};
use reweave_statics::frames::Point;
use reweave_statics::locks::Lock;
use reweave_statics::points_to::{Object, ObjectId, Target};
use reweave_statics::reads::Seen;
use reweave_statics::values::locations::LocationId;
use reweave_statics::values::state::Source;
use reweave_statics::{Program as Analysed, frames::Skeleton};

use crate::machine::{Cell, Event, Instance, Machine, Name, Phase, State};

/// What a read returned over all executions of one input.
#[derive(Clone, Debug, Default)]
pub struct Returned {
    pub values: BTreeSet<u64>,
    pub sources: BTreeSet<Option<Instance>>,
    pub locations: BTreeSet<LocationId>,
    pub cells: BTreeSet<Cell>,
    /// In so many of the executions in which all threads ended.
    pub complete: usize,
}

/// Everything that all executions of one input did.
#[derive(Default)]
pub struct Observed {
    pub reads: BTreeMap<Instance, Returned>,
    /// When main returned and no other thread was left.
    pub last: BTreeMap<Cell, Returned>,
    /// What was printed, in order, where all threads ended.
    pub outputs: BTreeSet<Vec<(Instance, String)>>,
    pub statuses: BTreeSet<Option<u64>>,
    /// Ways to end with all threads over.
    pub complete: usize,
    /// Memory seen at a thread's accesses: who wrote what is there, for the paper's definition.
    pub memories: BTreeMap<(Name, Point, Cell), BTreeSet<Writer>>,
    pub accessed: BTreeSet<(Name, Cell)>,
    pub races: BTreeSet<(Point, Point)>,
    pub states: usize,
}

/// The thread that wrote what is there; none: the system.
pub type Writer = Option<Name>;

/// What is wrong with the analysis.
pub type Wrong = String;

pub struct Observer<'a, 'p> {
    pub machine: Machine<'a, 'p>,
    pub analysed: &'a Analysed<'p>,
}

impl<'p> Observer<'_, 'p> {
    fn skeleton(&self) -> &Skeleton<'p> {
        &self.analysed.skeleton
    }

    /// All executions; none if there are too many states.
    pub fn run(&self, most: usize) -> Result<Option<Observed>, Wrong> {
        let mut observed = Observed::default();
        let mut seen: HashSet<[u64; 2]> = HashSet::new();
        let mut rest = vec![self.machine.first()];
        let mut wrong: Option<Wrong> = None;
        while let Some(state) = rest.pop() {
            observed.states += 1;
            if observed.states > most {
                return Ok(None);
            }
            let enabled: Vec<usize> =
                (0..state.threads.len()).filter(|who| self.machine.can_step(&state, *who)).collect();
            self.races(&state, &enabled, &mut observed);
            for who in enabled {
                let mut next = state.clone();
                self.machine.step(&mut next, who, &mut |state, who, event| {
                    if wrong.is_none() {
                        wrong = self.look(state, who, event, &mut observed).err();
                    }
                });
                if let Some(wrong) = wrong {
                    return Err(wrong);
                }
                if next.ended.is_some() {
                    self.ended(&next, &mut observed);
                } else if seen.insert(fingerprint(&next)) {
                    rest.push(next);
                }
            }
        }
        Ok(Some(observed))
    }

    fn ended(&self, state: &State, observed: &mut Observed) {
        observed.statuses.insert(state.ended.and_then(Result::ok));
        let all_over = state.threads.iter().all(|thread| thread.phase == Phase::Over);
        if !all_over || state.ended.is_none_or(|end| end.is_err()) {
            return;
        }
        observed.complete += 1;
        observed.outputs.insert(state.output.clone());
        for thread in &state.threads {
            for (point, count) in &thread.visits {
                for nth in 1..=*count {
                    let instance = Instance { thread: thread.name.clone(), point: *point, nth };
                    if let Some(read) = observed.reads.get_mut(&instance) {
                        read.complete += 1;
                    }
                }
            }
        }
        for cell in self.globals().into_iter().chain(state.memory.keys().copied()).collect::<BTreeSet<_>>() {
            let (value, source) = state.memory.get(&cell).cloned().unwrap_or((0, None));
            let location = self.location(state, cell).expect("every cell has a location");
            let read = observed.last.entry(cell).or_default();
            read.values.insert(value);
            read.sources.insert(source);
            read.locations.insert(location);
            read.complete += 1;
        }
    }

    fn look(&self, state: &State, who: usize, event: Option<Event>, observed: &mut Observed) -> Result<(), Wrong> {
        match event {
            None => self.statement(state, who),
            Some(Event::Read { by, cell, value, source }) => {
                self.read(state, &by, cell, value, source.as_ref())?;
                self.memories(state, &by, cell, observed);
                let location = self.location(state, cell)?;
                let read = observed.reads.entry(by).or_default();
                read.locations.insert(location);
                read.cells.insert(cell);
                read.values.insert(value);
                read.sources.insert(source);
                Ok(())
            }
            Some(Event::Wrote { by, cell }) => {
                let location = self.location(state, cell)?;
                let write = self.analysed.accesses.writes.get(&by.point);
                let known = write.is_some_and(|write| write.unknown || write.locations.contains(&location));
                self.memories(state, &by, cell, observed);
                if known { Ok(()) } else { Err(format!("{by:?} writes {cell:?}, which is not known of it: {write:?}")) }
            }
        }
    }

    /// Cells that are there from the start, objects apart.
    pub fn globals(&self) -> Vec<Cell> {
        let globals = self.machine.program.globals.iter().enumerate();
        let all = globals.flat_map(|(base, global)| {
            let values = matches!(global.slot, reweave_script::language::Slot::Value(_));
            let count = if values { global.length.unwrap_or(1) } else { 0 };
            (0..count).map(move |index| Cell { base: base as u64, index })
        });
        all.collect()
    }

    /// Who wrote all that is there, when a thread accesses memory.
    fn memories(&self, state: &State, by: &Instance, cell: Cell, observed: &mut Observed) {
        observed.accessed.insert((by.thread.clone(), cell));
        for cell in self.globals() {
            let writer = state.memory.get(&cell).and_then(|(_, source)| source.as_ref()).map(|by| by.thread.clone());
            observed.memories.entry((by.thread.clone(), by.point, cell)).or_default().insert(writer);
        }
    }

    fn statement(&self, state: &State, who: usize) -> Result<(), Wrong> {
        let thread = &state.threads[who];
        let (point, kind) = self.machine.next(thread);
        let line = self.skeleton().statement(point.statement).position.line;
        let call = thread.calls.last().unwrap();
        let Some(known) = self.analysed.accesses.registers.get(&point) else {
            return Err(format!("line {line} is reached, but not known to be ({point:?})"));
        };
        let infos = &self.skeleton().program.function(self.skeleton().frames[point.frame.index()].function).registers;
        for (at, ((bits, value), info)) in call.registers.iter().zip(known).zip(infos).enumerate() {
            if !value.contains(info.kind, *bits) {
                return Err(format!("line {line}: %{} is {bits:#x}, not in {value:?}", info.name));
            }
            if info.kind == Type::Ref && *bits != 0 {
                let object = self.object(state, *bits)?;
                let targets =
                    self.analysed.points_to.register(point.frame, reweave_script::language::Register(at as u32));
                if !targets.contains(&Target::Object(object)) {
                    return Err(format!("line {line}: %{} refers to {object:?}, not in {targets:?}", info.name));
                }
            }
        }
        self.locks(state, who, point, line)?;
        for (other, beside) in state.threads.iter().enumerate() {
            if other != who && beside.phase != Phase::Over {
                let there = self.machine.next(beside).0;
                if !self.analysed.parallel.may(point, there) {
                    let other = self.skeleton().statement(there.statement).position.line;
                    return Err(format!("lines {line} and {other} meet, but are said not to be parallel"));
                }
            }
        }
        let is_end = matches!(kind, StatementKind::Return { .. }) && who == 0 && thread.calls.len() == 1;
        if is_end { self.last(state, point) } else { Ok(()) }
    }

    fn locks(&self, state: &State, who: usize, point: Point, line: u32) -> Result<(), Wrong> {
        let held: Vec<(Lock, bool)> = self
            .machine
            .held(state, who)
            .into_iter()
            .map(|(cell, shared)| Ok((Lock { object: self.object_of(state, cell)?, index: cell.index }, shared)))
            .collect::<Result<_, Wrong>>()?;
        for must in self.analysed.locks.at(point).iter() {
            if !held.iter().any(|(lock, shared)| *lock == must.lock && (must.shared || !shared)) {
                return Err(format!("line {line}: {:?} is not held", must.lock));
            }
        }
        Ok(())
    }

    /// Races: two accesses that are both next.
    fn races(&self, state: &State, enabled: &[usize], observed: &mut Observed) {
        let next: Vec<(Point, Cell, bool, bool)> = enabled.iter().filter_map(|who| self.access(state, *who)).collect();
        for (at, (one, cell, writes, atomic)) in next.iter().enumerate() {
            for (other, other_cell, other_writes, other_atomic) in &next[at + 1..] {
                if cell == other_cell && (*writes || *other_writes) && !(*atomic && *other_atomic) {
                    observed.races.insert((*one.min(other), *one.max(other)));
                }
            }
        }
    }

    fn access(&self, state: &State, who: usize) -> Option<(Point, Cell, bool, bool)> {
        use reweave_script::language::Mode;
        let (point, kind) = self.machine.next(&state.threads[who]);
        let (place, writes, atomic) = match kind {
            StatementKind::Load { from, mode, .. } => (from, false, matches!(mode, Mode::Atomic(_))),
            StatementKind::Store { to, mode, .. } => (to, true, matches!(mode, Mode::Atomic(_))),
            StatementKind::Update { at, .. } | StatementKind::CompareExchange { at, .. } => (at, true, true),
            _ => return None,
        };
        Some((point, self.machine.cell(state, who, place)?, writes, atomic))
    }

    fn object(&self, state: &State, base: u64) -> Result<ObjectId, Wrong> {
        let object = match state.heap.get(&base) {
            Some(made) => Object::Site(made.by.point),
            None => Object::Global(reweave_script::language::GlobalId(base as u32)),
        };
        self.analysed.points_to.id_of(object).ok_or_else(|| format!("{object:?} is not known"))
    }

    fn object_of(&self, state: &State, cell: Cell) -> Result<ObjectId, Wrong> {
        self.object(state, cell.base)
    }

    pub fn location(&self, state: &State, cell: Cell) -> Result<LocationId, Wrong> {
        let object = self.object(state, cell.base)?;
        let locations = &self.analysed.locations;
        let fits = |at: &LocationId| locations.get(*at).index.is_none_or(|index| index == cell.index);
        locations.of_object(object).find(fits).ok_or_else(|| format!("{cell:?} has no location"))
    }

    fn read(
        &self,
        state: &State,
        by: &Instance,
        cell: Cell,
        value: u64,
        source: Option<&Instance>,
    ) -> Result<(), Wrong> {
        let location = self.location(state, cell)?;
        let known = self.analysed.accesses.reads.get(&by.point);
        let seen = known.and_then(|read| read.seen.iter().find(|seen| seen.location == location));
        let Some(seen) = seen else { return Err(format!("{by:?} reads {cell:?}, which is not known of it")) };
        self.seen(seen, value, source).map_err(|wrong| format!("{by:?}: {wrong}"))
    }

    fn seen(&self, seen: &Seen, value: u64, source: Option<&Instance>) -> Result<(), Wrong> {
        let kind = self.analysed.locations.get(seen.location).kind;
        if !seen.value.contains(kind, value) {
            return Err(format!("reads {value:#x}, not in {:?}", seen.value));
        }
        let known = match source {
            None => seen.before.contains(&Source::System),
            Some(write) => seen.before.contains(&Source::Write(write.point)) || seen.beside.contains(&write.point),
        };
        if known { Ok(()) } else { Err(format!("reads what {source:?} wrote, not in {seen:?}")) }
    }

    /// The reads when main ends.
    fn last(&self, state: &State, point: Point) -> Result<(), Wrong> {
        let Some(known) = self.analysed.accesses.last.get(&point) else {
            return Err(format!("main ends at {point:?}, which is not known"));
        };
        for (cell, (value, source)) in &state.memory {
            let location = self.location(state, *cell)?;
            let Some(seen) = known.iter().find(|seen| seen.location == location) else {
                return Err(format!("{cell:?} is there at the end, which is not known"));
            };
            self.seen(seen, *value, source.as_ref()).map_err(|wrong| format!("at the end, {cell:?}: {wrong}"))?;
        }
        Ok(())
    }
}

fn fingerprint(state: &State) -> [u64; 2] {
    [1u8, 2].map(|salt| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        state.hash(&mut hasher);
        hasher.finish()
    })
}
