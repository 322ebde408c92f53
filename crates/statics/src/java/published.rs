//! Levels of values by thread for Java: what reads see, weak determinism, and the paper's own rule.
//!
//! As in [`crate::paper`] (its corrected reading): a thread's states are its reads of a location (its writes, if they are
//! asked for) and its end, the memory is what the thread itself accesses, `many` counts as two, and all values must lie
//! in one class of a partition. Writers between whom only the input decides are no choice.
//! Deviation: a state at which a thread accesses another location only is not looked at; its end is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reweave_report::determinism::{LocationItem, Verdict};

use super::accesses::Location;
use super::judge::Facts;
use super::names::Naming;
use super::ranges::Ranges;
use super::solve::{Point, ThreadId};
use crate::domain::value::Value as Known;
use crate::domain::views::Partition;
use crate::only::{Only, State};
use crate::paper::Writer;
use crate::question::{Question, Rule, What};

/// Names of a location and its object.
type Key = (String, Option<String>);

/// Of which locations all values lie in one class, by partition.
#[derive(Default)]
pub struct Weak {
    all: HashMap<Key, Vec<(Partition, bool)>>,
}

impl Weak {
    pub fn key(item: &LocationItem) -> Key {
        (item.name.clone(), item.object.clone())
    }

    /// Objects of one name must all do.
    pub fn add(&mut self, item: &LocationItem, lies: Vec<(Partition, bool)>) {
        match self.all.get_mut(&Self::key(item)) {
            Some(known) => known.iter_mut().zip(lies).for_each(|(known, (_, own))| known.1 &= own),
            None => {
                self.all.insert(Self::key(item), lies);
            }
        }
    }

    pub fn lies(&self, key: &Key, by: Partition) -> bool {
        self.all.get(key).is_some_and(|all| all.iter().any(|(own, lies)| *own == by && *lies))
    }
}

pub struct Levels<'l, 'f, 's, 'a> {
    pub ranges: &'l Ranges<'f, 's, 'a>,
    pub question: &'l Question,
}

impl Levels<'_, '_, '_, '_> {
    /// Says what reads see, judges by the paper's rule if that was asked for; which partitions all values respect.
    pub fn say(
        &self,
        naming: &Naming<'_, '_>,
        location: Location,
        facts: &Facts<'_, '_>,
        item: &mut LocationItem,
    ) -> Vec<(Partition, bool)> {
        let asked = self.question.required.iter().filter_map(|one| match one.what {
            What::Weak(by, _) => Some(by),
            _ => None,
        });
        let asked: Vec<Partition> = asked.chain(self.question.weak).collect();
        let unknown = facts.accesses.is_unknown(location) || self.ranges.lacking() > 0;
        let by_paper = self.question.rule == Rule::Paper;
        if item.verdict == Verdict::Proved && !by_paper && asked.is_empty() {
            return Vec::new();
        }
        let states = self.states(naming, location, facts);
        let doubtful: Vec<BTreeMap<Writer, Known>> = match by_paper {
            true => {
                let open = states.iter().filter(|at| self.ranges.is_open(location, **at));
                let memories = open.map(|at| self.ranges.level1(location, &[*at]));
                memories.filter(|memory| count(facts, memory) > 1).collect()
            }
            false => self.differing(facts, location, item),
        };
        self.show(facts, location, item);
        if by_paper && item.verdict != Verdict::Unknown {
            item.verdict = if doubtful.is_empty() { Verdict::Proved } else { Verdict::CanDiffer };
            item.same = None;
            if doubtful.is_empty() {
                item.reads.clear();
            }
        }
        let lies = |by: Partition| {
            let Some(kind) = self.ranges.kind(location).filter(|_| !unknown) else { return doubtful.is_empty() };
            doubtful.iter().all(|memory| {
                let all =
                    memory.values().fold(Known::Nothing, |known, one| self.ranges.domain().join(kind, &known, one));
                by.class(kind, &all).is_some()
            })
        };
        item.weak = self.question.weak.map(lies);
        asked.iter().map(|by| (*by, lies(*by))).collect()
    }

    /// Memories of the reads that can differ.
    fn differing(
        &self,
        facts: &Facts<'_, '_>,
        location: Location,
        item: &LocationItem,
    ) -> Vec<BTreeMap<Writer, Known>> {
        if item.verdict == Verdict::Proved {
            return Vec::new();
        }
        let all = &facts.accesses.by_location[&location];
        let reads = all.iter().map(|id| &facts.accesses.all[*id]).filter(|access| access.reads);
        let mut memories: Vec<_> = reads.map(|access| self.ranges.level1(location, &[access.at])).collect();
        memories.push(self.ranges.level1(location, &self.ranges.ends()));
        memories
    }

    /// What each read sees.
    fn show(&self, facts: &Facts<'_, '_>, location: Location, item: &mut LocationItem) {
        let is_number = self.ranges.kind(location).is_some_and(|kind| kind != reweave_script::language::Type::Ref);
        if !is_number || self.ranges.lacking() > 0 {
            return;
        }
        let all = &facts.accesses.by_location[&location];
        let naming = Naming::new(facts.solver);
        let mut points: HashMap<(String, u32, String), Vec<Point>> = HashMap::new();
        for access in all.iter().map(|id| &facts.accesses.all[*id]).filter(|access| access.reads) {
            let at = naming.point(access.at);
            points.entry((at.file, at.line, at.by)).or_default().push(access.at);
        }
        for read in &mut item.reads {
            let key = (read.at.file.clone(), read.at.line, read.at.by.clone());
            let at = if read.is_end { Some(self.ranges.ends()) } else { points.get(&key).cloned() };
            let value = at.filter(|at| !at.is_empty()).and_then(|at| self.ranges.seen(location, &at));
            read.sees = value.filter(|value| *value != Known::Nothing).map(|value| self.ranges.shown(location, &value));
        }
    }

    /// Accesses to a location, and the ends of the threads that access it, as far as they were asked for.
    fn states(&self, naming: &Naming<'_, '_>, location: Location, facts: &Facts<'_, '_>) -> BTreeSet<Point> {
        let solver = facts.solver;
        let all = &facts.accesses.by_location[&location];
        let accesses = all.iter().map(|id| &facts.accesses.all[*id]);
        let threads: BTreeSet<ThreadId> =
            accesses.clone().map(|access| solver.frames[access.at.frame.index()].thread).collect();
        let only = &self.question.only;
        let has_steps = only.states.iter().any(|state| matches!(state, State::Reads | State::Writes));
        let has_places = only.states.iter().any(|state| matches!(state, State::At(_)));
        let is_meant = |at: Point, steps: &[State]| {
            let told = naming.point(at);
            let step = !has_steps || steps.iter().any(|step| only.states.contains(step));
            let placed = only.states.iter().any(|state| match state {
                State::At(place) => Only::is_place(&told, place),
                _ => false,
            });
            only.has_thread(&told.by) && step && (!has_places || placed)
        };
        let steps = |access: &super::accesses::Access| {
            let reads = access.reads.then_some(State::Reads);
            reads.into_iter().chain(access.writes.then_some(State::Writes)).collect::<Vec<State>>()
        };
        // Where a thread writes it has its own say; that is asked for by `states=writes`.
        let asked = |access: &&super::accesses::Access| access.reads || has_steps || has_places;
        let own = accesses.filter(asked).filter(|access| is_meant(access.at, &steps(access))).map(|access| access.at);
        let ends = threads.into_iter().flat_map(|thread| facts.ends_of(thread)).filter(|at| is_meant(*at, &[]));
        own.chain(ends).collect()
    }
}

/// Writers; `many` counts as two.
fn count(facts: &Facts<'_, '_>, memory: &BTreeMap<Writer, Known>) -> usize {
    let each = |writer: &Writer| match writer {
        Writer::Thread(thread) if facts.threads.many[thread.index()] => 2,
        _ => 1,
    };
    memory.keys().map(each).sum()
}

/// What is known of one location, for people.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToldLocation {
    /// What each thread writes there, all its writes together.
    pub writes: BTreeMap<String, String>,
    /// What is there when main ends, by thread that wrote it.
    pub end: BTreeMap<String, String>,
    /// All of it together.
    pub both: String,
}

/// What is known of all locations whose values are numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told {
    pub rounds: u32,
    /// Equations that do not hold: our bug, if there are any.
    pub lacking: usize,
    pub locations: BTreeMap<String, ToldLocation>,
}

pub fn told(facts: &Facts<'_, '_>, ranges: &Ranges<'_, '_, '_>) -> Told {
    let naming = Naming::new(facts.solver);
    let mut told = Told { rounds: ranges.rounds(), lacking: ranges.lacking(), ..Told::default() };
    for (location, all) in &facts.accesses.by_location {
        let (Some((name, _)), Some(kind)) = (naming.location(*location), ranges.kind(*location)) else { continue };
        let domain = ranges.domain();
        let mut item = ToldLocation::default();
        let mut writes: BTreeMap<String, Known> = BTreeMap::new();
        for id in all.iter().copied().filter(|id| facts.accesses.all[*id].writes) {
            let by = naming.point(facts.accesses.all[id].at).by;
            let known = writes.entry(by).or_insert(Known::Nothing);
            *known = domain.join(kind, known, &ranges.written(id).unwrap_or(Known::Nothing));
        }
        item.writes = writes.into_iter().map(|(by, value)| (by, ranges.shown(*location, &value))).collect();
        let end = ranges.level1(*location, &ranges.ends());
        let by = |writer: &Writer| match writer {
            Writer::System => "System".to_owned(),
            Writer::Thread(thread) => naming.thread(ThreadId(thread.0)),
        };
        let both = end.values().fold(Known::Nothing, |known, one| domain.join(kind, &known, one));
        item.both = ranges.shown(*location, &both);
        item.end = end.iter().map(|(writer, value)| (by(writer), ranges.shown(*location, value))).collect();
        told.locations.insert(name, item);
    }
    told
}
