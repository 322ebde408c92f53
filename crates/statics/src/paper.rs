//! The rule of the paper (Ferrara, *Static analysis of the determinism of multithreaded programs*): level 1, level 2,
//! D#, D°, weak determinism and projections, on the computed fixpoint.
//!
//! A state is (thread, point, context) instead of an index into a trace. [`Reading::Printed`] otherwise takes the
//! paper at its word: the whole memory is compared at every state, one abstract thread is one writer, writers are
//! threads and not write instances, equal abstract values are weakly deterministic even if they are unknown.
//! [`Reading::Corrected`] looks at what the thread itself accesses, counts `many` as two, and wants all values in one
//! class. The definitions that hold are in [`crate::choices`] and [`crate::verdict`]; they win over the paper.

use std::collections::{BTreeMap, BTreeSet};

use reweave_script::language::StatementKind;

use crate::domain::value::{Domain, Value};
use crate::domain::views::Partition;
use crate::flow::visit;
use crate::frames::{FrameId, Point, Skeleton, ThreadId};
use crate::values::Values;
use crate::values::locations::{LocationId, Locations};
use crate::values::state::Source;

/// Who wrote what is there. `System` wrote initial values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Writer {
    System,
    Thread(ThreadId),
}

/// Level 1: a value for each thread that may have written it.
pub type Level1 = BTreeMap<LocationId, BTreeMap<Writer, Value>>;

/// Level 2: one value, and all threads that may have written it.
pub type Level2 = BTreeMap<LocationId, (Value, BTreeSet<Writer>)>;

/// What a thread does at a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    Reads,
    Writes,
    /// Its last state.
    Ends,
}

/// A state of a thread: the memory it sees at an access, or when it ends.
pub struct State {
    pub at: Point,
    pub thread: ThreadId,
    pub step: Step,
    pub memory: Level1,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    Printed,
    Corrected,
}

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    /// None: all.
    pub threads: Option<BTreeSet<ThreadId>>,
    pub locations: Option<BTreeSet<LocationId>>,
    pub steps: Option<BTreeSet<Step>>,
    /// States there only.
    pub points: Option<BTreeSet<Point>>,
}

pub struct Memories {
    pub states: Vec<State>,
    domain: Domain,
    kinds: Vec<reweave_script::language::Type>,
    many: Vec<bool>,
    /// What each thread accesses itself.
    accessed: BTreeSet<(ThreadId, LocationId)>,
}

impl Memories {
    pub fn new(values: &mut Values<'_, '_>) -> Self {
        let (analysis, solution) = (&mut values.analysis, &values.solution);
        let (skeleton, locations) = (analysis.skeleton, analysis.locations);
        let mut memories = Self {
            states: Vec::new(),
            domain: analysis.domain,
            kinds: locations.all.iter().map(|location| location.kind).collect(),
            many: skeleton.threads.iter().map(|thread| thread.is_many).collect(),
            accessed: BTreeSet::new(),
        };
        visit(analysis, skeleton, solution, |analysis, at, statement, state| {
            let Some(step) = step_of(skeleton, at.frame, &statement.kind) else { return };
            let thread = skeleton.thread_of(at);
            if let Some(place) = statement.kind.place() {
                let kind = analysis.kind_of_place(at.frame, place);
                let resolved = analysis.resolve(at.frame, place, state, kind);
                memories.accessed.extend(resolved.locations.iter().map(|location| (thread, *location)));
            }
            let mut memory = Level1::new();
            for location in locations.ids() {
                let own = state.memory.get(location);
                let mut writers: BTreeMap<Writer, Value> = BTreeMap::new();
                let mut add = |writer: Writer, value: &Value| {
                    let known = writers.entry(writer).or_insert(Value::Nothing);
                    *known = analysis.domain.join(locations.get(location).kind, known, value);
                };
                for source in &own.sources {
                    match source {
                        Source::System => {
                            add(Writer::System, &initial(analysis, locations, location));
                        }
                        Source::Write(write) => {
                            let value = analysis.shared.written(location, *write).unwrap_or(&own.value);
                            add(Writer::Thread(skeleton.thread_of(*write)), value);
                        }
                    }
                }
                for (write, value) in analysis.shared.seen(analysis.parallel, analysis.locks, at, location, own) {
                    add(Writer::Thread(skeleton.thread_of(write)), value);
                }
                if !writers.is_empty() {
                    memory.insert(location, writers);
                }
            }
            memories.states.push(State { at, thread, step, memory });
        });
        memories
    }

    fn counts(&self, reading: Reading, writers: &BTreeMap<Writer, Value>) -> usize {
        let count = |writer: &Writer| match (reading, writer) {
            (Reading::Corrected, Writer::Thread(thread)) if self.many[thread.index()] => 2,
            _ => 1,
        };
        writers.keys().map(count).sum()
    }

    /// Locations with more than one writer, at the states in question.
    fn doubtful<'a>(
        &'a self,
        reading: Reading,
        projection: &'a Projection,
    ) -> impl Iterator<Item = (&'a State, LocationId, &'a BTreeMap<Writer, Value>)> {
        let states = self.states.iter().filter(move |state| {
            projection.threads.as_ref().is_none_or(|threads| threads.contains(&state.thread))
                && projection.steps.as_ref().is_none_or(|steps| steps.contains(&state.step))
                && projection.points.as_ref().is_none_or(|points| points.contains(&state.at))
        });
        let locations = states.flat_map(|state| state.memory.iter().map(move |(at, writers)| (state, *at, writers)));
        locations.filter(move |(state, location, writers)| {
            let looked_at = reading == Reading::Printed || self.accessed.contains(&(state.thread, *location));
            looked_at
                && projection.locations.as_ref().is_none_or(|locations| locations.contains(location))
                && self.counts(reading, writers) > 1
        })
    }

    /// D#.
    pub fn is_deterministic(&self, reading: Reading, projection: &Projection) -> bool {
        self.doubtful(reading, projection).next().is_none()
    }

    /// The second level of a state.
    pub fn level2(&self, state: &State) -> Level2 {
        let joined = |location: LocationId, writers: &BTreeMap<Writer, Value>| {
            let kind = self.kinds[location.index()];
            writers.values().fold(Value::Nothing, |known, value| self.domain.join(kind, &known, value))
        };
        let all = state.memory.iter();
        all.map(|(at, writers)| (*at, (joined(*at, writers), writers.keys().copied().collect()))).collect()
    }

    /// D°: the same question at the second level. Its answer is that of D#, as it keeps all writers.
    pub fn is_deterministic_at_level2(&self, reading: Reading, projection: &Projection) -> bool {
        self.doubtful(reading, projection).all(|(state, location, _)| {
            self.level2(state).get(&location).is_none_or(|(_, writers)| {
                let many = |writer: &Writer| matches!(writer, Writer::Thread(thread) if self.many[thread.index()]);
                writers.len() < 2 && !(reading == Reading::Corrected && writers.iter().any(many))
            })
        })
    }

    /// Weak determinism: where there is more than one writer, values are equal (as printed), or lie in one class.
    pub fn is_weakly_deterministic(&self, reading: Reading, projection: &Projection, by: Partition) -> bool {
        self.doubtful(reading, projection).all(|(_, location, writers)| {
            let kind = self.kinds[location.index()];
            match reading {
                Reading::Printed => {
                    let mut values = writers.values();
                    let first = values.next();
                    values.all(|value| Some(value) == first)
                }
                Reading::Corrected => {
                    let all =
                        writers.values().fold(Value::Nothing, |known, value| self.domain.join(kind, &known, value));
                    by.class(kind, &all).is_some()
                }
            }
        })
    }
}

fn initial(analysis: &crate::values::Analysis<'_, '_>, locations: &Locations, location: LocationId) -> Value {
    locations.initial(analysis.skeleton, analysis.points_to, analysis.domain, location)
}

/// Whether a statement is a state of the paper's traces.
fn step_of(skeleton: &Skeleton<'_>, frame: FrameId, kind: &StatementKind) -> Option<Step> {
    let thread = skeleton.frames[frame.index()].thread;
    let is_entry = skeleton.threads[thread.index()].entry == frame;
    match kind {
        StatementKind::Load { .. } => Some(Step::Reads),
        StatementKind::Store { .. } | StatementKind::Update { .. } | StatementKind::CompareExchange { .. } => {
            Some(Step::Writes)
        }
        StatementKind::Return { .. } if is_entry => Some(Step::Ends),
        _ => None,
    }
}
