//! What is said about a Java program, as data for reports.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use reweave_report::determinism::{
    AccessAt, Determinism, LocationItem, NotUnderstood, ReadItem, Same, ThreadItem, Verdict, Why,
};

use super::accesses::{Access, Accesses, Location};
use super::barriers::Barriers;
use super::calls::is_library;
use super::code::{Kind, Value};
use super::conflicts::{AccessId, Choices, Conflicts, OrderFree};
use super::derived::Derived;
use super::exceptions::Exceptions;
use super::models::Word;
use super::monitors::Monitors;
use super::names::Naming;
use super::nullness::Nullness;
use super::owned::Owned;
use super::published::{Levels, Weak};
use super::races::Races;
use super::ranges::{Effort, Ranges};
use super::signals::Signals;
use super::slices::Slices;
use super::solve::{Birth, Point, Solver, ThreadId};
use super::taint::{Because, Manner, Root, Taint};
use super::threads::Threads;
use super::updates;
use crate::expected::Expected;
use crate::question::Question;

/// Everything that is known of a program.
pub struct Facts<'s, 'a> {
    pub solver: &'s Solver<'a>,
    pub threads: Threads,
    pub monitors: Monitors,
    pub accesses: Accesses,
    pub signals: Signals,
    pub barriers: Barriers,
    pub conflicts: Conflicts,
    pub races: Races,
    pub exceptions: Exceptions<'s, 'a>,
}

impl<'s, 'a> Facts<'s, 'a> {
    pub fn new(solver: &'s Solver<'a>) -> Self {
        let nullness = Nullness::new(solver);
        let threads = Threads::new(solver, &Exceptions::new(solver, &nullness, &HashSet::new(), None));
        let accesses = Accesses::new(solver, &threads);
        let fixed = |object, field| {
            let all = accesses.by_location.get(&Location::Field(object, field));
            all.into_iter().flatten().all(|id| {
                let access = &accesses.all[*id];
                !access.writes || access.initialises
            })
        };
        let owned = Owned::new(solver, &threads, &fixed);
        let monitors = Monitors::new(solver, &threads);
        let signals = Signals::new(solver, &threads, &accesses, &monitors);
        let slices = Slices {
            solver,
            threads: &threads,
            accesses: &accesses,
            owned: &owned,
            puts: OnceCell::default(),
            ends: Default::default(),
        };
        let barriers = Barriers::new(solver, &slices);
        let conflicts = Conflicts::new(&slices, &signals, &barriers);
        let races = Races::new(solver, &threads, &accesses, &monitors, &conflicts);
        let exceptions = Exceptions::new(solver, &nullness, &slices.within(), Some(&threads));
        Self { solver, threads, monitors, accesses, signals, barriers, conflicts, races, exceptions }
    }

    /// What is said, and which locations' values lie in one class of which partitions that were asked for.
    pub fn judge(&self, question: &Question) -> (Determinism, Weak) {
        let ranges = Ranges::new(self, Effort::default());
        let levels = Levels { ranges: &ranges, question };
        self.judging(|judge| judge.everything(&levels))
    }

    /// Where main returns.
    pub fn main_ends(&self) -> impl Iterator<Item = Point> + '_ {
        self.ends_of(ThreadId::MAIN)
    }

    /// Where a thread returns from what it runs last.
    pub fn ends_of(&self, thread: ThreadId) -> impl Iterator<Item = Point> + '_ {
        let solver = self.solver;
        let own = &solver.threads[thread.index()];
        let skip = if own.birth == Birth::Main { own.entries.len().saturating_sub(1) } else { 0 };
        own.entries.iter().skip(skip).flat_map(move |frame| {
            let blocks = solver.frames[frame.index()].body.code.blocks.iter().enumerate();
            blocks.flat_map(move |(block, code)| {
                let returns = code.statements.iter().position(|one| matches!(one.kind, Kind::Return(_)));
                returns.map(|index| Point { frame: *frame, block: block as u32, index: index as u32 })
            })
        })
    }

    /// What runs may do, by lines.
    pub fn expected(&self) -> Expected {
        self.judging(|judge| judge.expected())
    }

    fn judging<T>(&self, what: impl FnOnce(&Judge<'_, 's, 'a>) -> T) -> T {
        let choices = Choices {
            solver: self.solver,
            threads: &self.threads,
            accesses: &self.accesses,
            conflicts: &self.conflicts,
            races: &self.races,
            monitors: &self.monitors,
            exceptions: &self.exceptions,
        };
        let (taint, free) = updates::find(&choices);
        let naming = Naming::new(self.solver);
        let ends = Ends::new(self);
        what(&Judge { facts: self, choices, taint, free, naming, ends })
    }
}

/// Where the program may end while others are running.
pub(super) struct Ends {
    exits: Vec<Point>,
    /// Daemon threads, which nobody waits for.
    daemons: BTreeSet<ThreadId>,
}

impl Ends {
    fn new(facts: &Facts<'_, '_>) -> Self {
        let solver = facts.solver;
        let exits = solver.used.iter().filter(|(_, used)| used.iter().any(|one| one.model.has(Word::Exit)));
        let is_daemon = |thread: &Birth| matches!(thread, Birth::Started(object) if solver.daemons.contains(object));
        let daemons = (0..solver.threads.len()).map(|at| ThreadId(at as u32)).filter(|thread| {
            let line = solver.threads.iter().enumerate().filter(|(at, _)| {
                ThreadId(*at as u32) == *thread || facts.threads.is_above(ThreadId(*at as u32), *thread)
            });
            line.into_iter().any(|(_, one)| is_daemon(&one.birth))
        });
        Self { exits: exits.map(|(at, _)| *at).collect(), daemons: daemons.collect() }
    }

    /// Whether the program may be over before a point is reached, or while it is.
    pub fn cuts_off(&self, facts: &Facts<'_, '_>, at: Point) -> bool {
        let thread = facts.solver.frames[at.frame.index()].thread;
        let over = |end: Point| facts.threads.parallel(facts.solver, end, at);
        self.exits.iter().any(|exit| over(*exit)) || self.daemons.contains(&thread) && facts.main_ends().any(over)
    }
}

pub(super) struct Judge<'f, 's, 'a> {
    pub facts: &'f Facts<'s, 'a>,
    choices: Choices<'f, 'a>,
    pub taint: Taint,
    free: OrderFree,
    pub naming: Naming<'f, 'a>,
    pub ends: Ends,
}

/// What a read is, over all executions of one input.
pub(super) enum Read {
    Fixed,
    Same(Same),
    Choice(AccessId, AccessId),
    Derived(Derived),
    Unknown,
}

impl Read {
    /// The choice because of which an access at a point is not the same in all executions.
    pub fn because(self, read: AccessId, at: Point) -> Option<Because> {
        match self {
            Self::Fixed | Self::Same(_) => None,
            Self::Choice(..) => Some(Because::new(Root::Read(read))),
            Self::Derived(derived) => derived.because(),
            Self::Unknown => Some(Because::new(Root::Touched(at))),
        }
    }
}

impl Judge<'_, '_, '_> {
    fn everything(&self, levels: &Levels<'_, '_, '_, '_>) -> (Determinism, Weak) {
        let solver = self.facts.solver;
        let mut threads = Vec::new();
        for (at, thread) in solver.threads.iter().enumerate() {
            if matches!(thread.birth, Birth::Initialiser(_) | Birth::Anywhere) {
                continue;
            }
            let made_up = |start: &&Point| Some(solver.frames[start.frame.index()].method) == solver.made_up;
            let started = match (thread.birth, thread.starts.len()) {
                // Where it is made tells more than one of many places that start it.
                (Birth::Started(object), 2..) => self.naming.made(object),
                _ => thread.starts.first().filter(|start| !made_up(start)).map(|start| solver.place(*start)),
            };
            // Contexts of one start are one to people.
            let origin = match thread.birth {
                Birth::Started(object) | Birth::Task(object, ..) => Some(solver.objects[object.index()].origin),
                _ => None,
            };
            let name = self.naming.thread(ThreadId(at as u32));
            let item = ThreadItem { name, started, many: self.facts.threads.many[at] };
            if threads.last() != Some(&(origin, item.clone())) {
                threads.push((origin, item));
            }
        }
        let mut weak = Weak::default();
        let threads: Vec<ThreadItem> = threads.into_iter().map(|(_, item)| item).collect();
        let mut locations: BTreeMap<(String, Option<String>), LocationItem> = BTreeMap::new();
        for location in self.facts.accesses.by_location.keys() {
            let Some((name, object)) = self.naming.location(*location) else { continue };
            if self.is_of_library(*location) {
                continue;
            }
            let mut item = self.location(*location, name.clone(), object.clone());
            let lies = levels.say(&self.naming, *location, self.facts, &mut item);
            weak.add(&item, lies);
            // What no field holds is only told where a choice is made there.
            let chosen = item.reads.iter().any(|read| read.why == Why::Choice);
            let hidden = self.naming.is_inside(*location) && !chosen;
            if hidden {
                continue;
            }
            match locations.get_mut(&(name.clone(), object.clone())) {
                Some(known) => merge(known, item),
                None => {
                    locations.insert((name, object), item);
                }
            }
        }
        let not_understood =
            solver.not_understood.keys().map(|(what, at)| NotUnderstood { what: what.clone(), at: at.clone() });
        let mut assumptions = assumptions(self.facts.solver.limits_hold);
        if solver.made_up.is_some() {
            assumptions.push("others set public fields only before they call methods of several threads".to_owned());
        }
        if levels.ranges.lacking() > 0 {
            assumptions
                .push(format!("values are not known: {} equations do not hold (our bug)", levels.ranges.lacking()));
        }
        let determinism = Determinism {
            threads,
            locations: locations.into_values().collect(),
            outputs: self.outputs(),
            required: Vec::new(),
            not_understood: not_understood.collect(),
            assumptions,
            gave_up: self.taint.incomplete.then(|| "the budget was used up".to_owned()),
        };
        (determinism, weak)
    }

    fn expected(&self) -> Expected {
        let (accesses, threads, solver) = (&self.facts.accesses, &self.facts.threads, self.facts.solver);
        let line = |id: AccessId| {
            let at = self.naming.point(accesses.all[id].at);
            (at.file, at.line)
        };
        let mut expected = Expected { blind: solver.blind || self.taint.incomplete, ..Expected::default() };
        for (location, all) in &accesses.by_location {
            for one in all.iter().copied().filter(|id| accesses.all[*id].reads) {
                expected.reads.insert(line(one));
                if accesses.is_unknown(*location) {
                    expected.unknown.insert(line(one));
                }
                let at = accesses.all[one].at;
                let seen = |write: &AccessId| {
                    let from = accesses.all[*write].at;
                    threads.parallel(solver, from, at) || threads.may_precede(solver, from, at)
                };
                let writes = all.iter().copied().filter(|id| accesses.all[*id].writes).filter(seen);
                expected.flows.extend(writes.map(|write| (line(one), line(write))));
            }
            expected.writes.extend(all.iter().copied().filter(|id| accesses.all[*id].writes).map(line));
            let item = self.location(*location, String::new(), None);
            expected.add_location(&item, all.iter().copied().map(line).collect());
        }
        expected.unknown.extend(accesses.unknown_loads.iter().map(|at| {
            let at = self.naming.point(*at);
            (at.file, at.line)
        }));
        expected
    }

    /// A field of a library class that the program only reads: `System.out`.
    fn is_of_library(&self, location: Location) -> bool {
        let (Location::Static(field) | Location::Field(_, field)) = location;
        let class = self.facts.solver.classes.fields[field.0 as usize].class;
        let all = &self.facts.accesses.by_location[&location];
        is_library(self.facts.solver.classes.names.text(class))
            && !all.iter().any(|id| self.facts.accesses.all[*id].writes)
    }

    fn access(&self, id: AccessId) -> AccessAt {
        let access = &self.facts.accesses.all[id];
        AccessAt { writes: access.writes, ..self.naming.point(access.at) }
    }

    /// Whether another object is meant in another execution.
    fn moves(&self, access: &Access) -> Option<Because> {
        let tainted = |value: Value| self.taint.value(access.at.frame, value);
        let single = |value: Value| match self.facts.solver.objects_of(access.at.frame, value)[..] {
            [object] => self.facts.threads.is_single(self.facts.solver, object),
            _ => false,
        };
        access.base.filter(|base| !single(*base)).and_then(tainted).or_else(|| access.index.and_then(tainted))
    }

    pub fn kind(&self, location: Location, read: Option<AccessId>) -> Read {
        if self.taint.incomplete || self.facts.accesses.is_unknown(location) {
            return Read::Unknown;
        }
        let matter = self.choices.matter(location, read, &self.free);
        if let Some((one, other)) = matter.first() {
            return Read::Choice(*one, *other);
        }
        let all = &self.facts.accesses.by_location[&location];
        let at = read.map(|read| self.facts.accesses.all[read].at);
        let seen = all.iter().filter_map(|write| {
            let access = &self.facts.accesses.all[*write];
            let before = |at| self.facts.threads.may_precede(self.facts.solver, access.at, at);
            let tainted = self.taint.writes.get(write).filter(|_| at.is_none_or(before));
            let cut = || read.is_none() && access.writes && self.ends.cuts_off(self.facts, access.at);
            let ends = || cut().then_some(Derived::Ends(*write));
            tainted.map(|(manner, because)| Derived::Write(*write, *manner, *because)).or_else(ends)
        });
        let moved = || read.and_then(|read| self.moves(&self.facts.accesses.all[read]));
        let decided = || at.and_then(|at| self.taint.decided(at)).filter(|_| !self.is_settled(location));
        let derived = seen
            .min_by_key(Derived::because)
            .or_else(|| moved().map(|because| Derived::Read(Manner::Place, because)))
            .or_else(|| decided().map(|because| Derived::Read(Manner::Executed, because)));
        if let Some(derived) = derived {
            return Read::Derived(derived);
        }
        match self.choices.pairs(location, read).first() {
            None => Read::Fixed,
            Some((one, other)) if self.free.accesses.contains(one) && self.free.accesses.contains(other) => {
                Read::Same(Same::OrderFree)
            }
            Some(_) => Read::Same(Same::Constant),
        }
    }

    /// Written only while nobody else can be there: once threads run it does not change any more. Deviation from the
    /// definition of *derived*: whether such a location is read may depend on a choice, what is read does not.
    fn is_settled(&self, location: Location) -> bool {
        let all = &self.facts.accesses.by_location[&location];
        all.iter().all(|id| {
            let access = &self.facts.accesses.all[*id];
            !access.writes || access.initialises || self.facts.threads.is_before_all(self.facts.solver, access.at)
        })
    }

    fn location(&self, location: Location, name: String, object: Option<String>) -> LocationItem {
        let all = &self.facts.accesses.by_location[&location];
        let mut item = LocationItem { name, object, race: self.race(location), ..LocationItem::default() };
        let reads = all.iter().copied().filter(|id| self.facts.accesses.all[*id].reads);
        let is_part = |id: &AccessId| self.free.accesses.contains(id) && !self.is_choice(location, *id);
        let reads: Vec<AccessId> = reads.filter(|id| !is_part(id)).collect();
        for read in reads.into_iter().map(Some).chain([None]) {
            let mut derived = None;
            let (verdict, why, pair) = match self.kind(location, read) {
                Read::Fixed => continue,
                Read::Same(same) => {
                    item.same = item.same.max(Some(same));
                    continue;
                }
                Read::Choice(one, other) => (Verdict::CanDiffer, Why::Choice, Some((one, other))),
                Read::Derived(from) => {
                    derived = Some(from.told(self.facts, &self.naming));
                    (Verdict::CanDiffer, Why::Derived, None)
                }
                Read::Unknown => (Verdict::Unknown, Why::Unknown, None),
            };
            item.verdict = item.verdict.max(verdict);
            let mut sources: Vec<AccessAt> = all
                .iter()
                .filter(|id| {
                    let access = &self.facts.accesses.all[**id];
                    let before = |read: AccessId| {
                        let at = self.facts.accesses.all[read].at;
                        self.facts.threads.may_precede(self.facts.solver, access.at, at)
                    };
                    access.writes && read.is_none_or(before)
                })
                .map(|id| self.access(*id))
                .collect();
            sources.sort();
            sources.dedup();
            let locked = pair.is_some_and(|(one, other)| {
                let held = |id: AccessId| (self.facts.accesses.all[id].at, self.facts.accesses.all[id].base);
                self.facts.monitors.common(held(one), held(other))
            });
            let pair = pair.map(|(one, other)| [self.access(one), self.access(other)]);
            let at = read.map(|read| self.access(read)).unwrap_or_default();
            let one = ReadItem { at, is_end: read.is_none(), sees: None, sources, why, pair, locked, derived };
            if !item.reads.iter().any(|known| known.at == one.at && known.is_end == one.is_end) {
                item.reads.push(one);
            }
        }
        if item.verdict != Verdict::Proved {
            item.same = None;
        }
        item
    }

    fn is_choice(&self, location: Location, read: AccessId) -> bool {
        !self.choices.matter(location, Some(read), &self.free).is_empty()
    }

    /// Two accesses that nothing keeps apart.
    fn race(&self, location: Location) -> Option<[AccessAt; 2]> {
        let (one, other) = self.facts.races.pairs.get(&location)?;
        Some([self.access(*one), self.access(*other)])
    }
}

/// Two abstract objects of one site are one to people.
fn merge(known: &mut LocationItem, item: LocationItem) {
    known.verdict = known.verdict.max(item.verdict);
    known.same = known.same.max(item.same).filter(|_| known.verdict == Verdict::Proved);
    known.weak = known.weak.zip(item.weak).map(|(one, other)| one && other);
    known.race = known.race.take().or(item.race);
    for read in item.reads {
        if !known.reads.iter().any(|one| one.at == read.at && one.is_end == read.is_end) {
            known.reads.push(read);
        }
    }
}

fn assumptions(limits_hold: bool) -> Vec<String> {
    let limits = "limits of a second or more do not run out while somebody can go on (--assume limits)";
    let asked = limits_hold.then_some(limits).into_iter();
    let always = [
        "executions are sequentially consistent",
        "memory and stack suffice",
        "inputs (arguments, files, clock, random numbers) do not depend on the order in which threads ask for them",
        "the library does what its models say (--models adds to them)",
        "places of arrays that threads compute from their numbers do not overflow",
    ];
    always.into_iter().chain(asked).map(str::to_owned).collect()
}
