//! Values: thread-modular abstract interpretation of Java programs.
//!
//! After Ferrara: each thread is analysed with what the others may have written, round after round, until no write
//! changes any more; a read joins the writes that it may see ([`order`]). Memory are the locations that points-to
//! found; a value domain sees numbers only ([`crate::domain`], shared with `.rwi`). As code is in SSA form every value
//! has one unknown, and comparisons narrow it where they dominate ([`refine`]); calls are joined over the frames that
//! points-to tells apart. Phis, and what goes in circles through memory and calls, are widened, with thresholds from the
//! program's constants; two descending passes follow.
//!
//! Guarantee: every value that is computed, read or written in an execution lies in the one that is found here.
//! [`Ranges::lacking`] is the check of the solution: every equation applied once more ([`system`], [`equations`]).

mod equations;
mod kinds;
mod order;
mod refine;
mod system;

use std::collections::{BTreeMap, BTreeSet};

use super::accesses::Location;
use super::conflicts::AccessId;
use super::judge::Facts;
use super::solve::{Point, ThreadId};
use crate::domain::value::{Domain, Value as Known};
use crate::paper::Writer;
use order::{Source, Sources};
use system::System;

/// How values are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub domain: Domain,
    /// How often a write may grow before it is widened.
    pub patience: u8,
    /// Widening stops at constants of the program.
    pub thresholds: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { domain: Domain::FULL, patience: 4, thresholds: true }
    }
}

/// The solution.
pub struct Ranges<'f, 's, 'a> {
    facts: &'f Facts<'s, 'a>,
    system: System<'f, 's, 'a>,
    sources: Sources<'f, 's, 'a>,
}

impl<'f, 's, 'a> Ranges<'f, 's, 'a> {
    pub fn new(facts: &'f Facts<'s, 'a>, effort: Effort) -> Self {
        let mut system = System::new(facts, effort);
        system.solve();
        Self { facts, system, sources: Sources::new(facts) }
    }

    /// How often all threads were looked at until no write changed, the last time included.
    pub fn rounds(&self) -> u32 {
        self.system.rounds
    }

    /// How many equations do not hold: our bug, if there are any.
    pub fn lacking(&self) -> usize {
        self.system.lacking
    }

    pub fn domain(&self) -> Domain {
        self.system.domain
    }

    /// The type of what a location holds, if that is a number or a reference.
    pub fn kind(&self, location: Location) -> Option<reweave_script::language::Type> {
        self.system.slots.get(&location).map(|slot| slot.kind())
    }

    /// A value of a location, for people.
    pub fn shown(&self, location: Location, value: &Known) -> String {
        use reweave_script::language::Type;
        let slot = self.system.slots.get(&location);
        value.shown(slot.map_or(Type::Ref, |slot| if slot.0 == b'Z' { Type::Bool } else { slot.kind() }))
    }

    /// What a write writes.
    pub fn written(&self, id: AccessId) -> Option<Known> {
        let location = self.facts.accesses.all[id].location;
        self.kind(location)?;
        Some(self.system.source(location, Source::Write(id)))
    }

    /// What is there at a point, for each thread that may have written it (the paper's first level).
    pub fn level1(&self, location: Location, at: &[Point]) -> BTreeMap<Writer, Known> {
        let seen: BTreeSet<Source> = at.iter().flat_map(|at| self.sources.at(location, *at)).collect();
        let mut writers = BTreeMap::new();
        for source in seen {
            let writer = match source {
                Source::System => Writer::System,
                Source::Write(id) => Writer::Thread(crate::frames::ThreadId(self.thread(id).0)),
                Source::All => continue,
            };
            let value = match self.kind(location) {
                Some(_) => self.system.source(location, source),
                None => Known::Nothing,
            };
            let known = writers.entry(writer).or_insert(Known::Nothing);
            if let Some(kind) = self.kind(location) {
                *known = self.system.domain.join(kind, known, &value);
            }
        }
        writers
    }

    /// Whether threads decide what is there at a point, and not only the input.
    pub fn is_open(&self, location: Location, at: Point) -> bool {
        self.sources.is_open(location, at)
    }

    fn thread(&self, id: AccessId) -> ThreadId {
        self.facts.solver.frames[self.facts.accesses.all[id].at.frame.index()].thread
    }

    /// What is read at some points; none if it is not known what the location holds.
    pub fn seen(&self, location: Location, at: &[Point]) -> Option<Known> {
        let kind = self.kind(location)?;
        if self.facts.accesses.is_unknown(location) {
            return Some(self.system.domain.any(kind));
        }
        let values = self.level1(location, at).into_values();
        Some(values.fold(Known::Nothing, |known, value| self.system.domain.join(kind, &known, &value)))
    }

    /// Where main ends.
    pub fn ends(&self) -> Vec<Point> {
        self.facts.main_ends().collect()
    }
}
