//! What runs may do according to the analysis, by lines of source text: for comparing it with recorded runs.

use std::collections::BTreeSet;

use reweave_report::determinism::{Determinism, LocationItem, Verdict};

use crate::frames::Point;
use crate::values::state::Source;
use crate::{Program, Settings};

/// File (without folders) and line.
pub type Line = (String, u32);

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Expected {
    pub reads: BTreeSet<Line>,
    pub writes: BTreeSet<Line>,
    /// Reads and the writes whose values they may see.
    pub flows: BTreeSet<(Line, Line)>,
    /// Reads that are not proved to be the same in all executions.
    pub doubtful: BTreeSet<Line>,
    /// Lines that access a location that is not proved, or races; one set for each location.
    pub doubtful_locations: Vec<BTreeSet<Line>>,
    /// The same of locations whose source may differ, and whose value does not.
    pub same_valued: Vec<BTreeSet<Line>>,
    /// Reads of what code that is not understood may have written.
    pub unknown: BTreeSet<Line>,
    /// Code that is not understood may do anything: nothing can be compared.
    pub blind: bool,
}

impl Expected {
    /// What is said about one location that lines access.
    pub fn add_location(&mut self, item: &LocationItem, lines: BTreeSet<Line>) {
        let reads = item.reads.iter().filter(|read| !read.is_end);
        self.doubtful.extend(reads.map(|read| (read.at.file.clone(), read.at.line)));
        if item.same.is_some() {
            self.same_valued.push(lines.clone());
        }
        if item.verdict != Verdict::Proved || item.race.is_some() {
            self.doubtful_locations.push(lines);
        }
    }

    /// Lines where every read always sees the same write.
    pub fn fixed(&self) -> impl Iterator<Item = &Line> {
        let same = |line: &Line| self.same_valued.iter().any(|all| all.contains(line));
        let is_fixed = move |line: &&Line| {
            !self.blind && !self.doubtful.contains(*line) && !self.unknown.contains(*line) && !same(line)
        };
        self.reads.iter().filter(is_fixed)
    }

    /// Whether a line is one of the analysed program at all.
    pub fn is_of_program(&self, line: &Line) -> bool {
        let is_same = |known: &Line| known.0 == line.0;
        line.1 > 0 && (self.reads.iter().any(is_same) || self.writes.iter().any(is_same))
    }
}

/// Of a `.rwi` program, about which `determinism` was said.
pub fn of_script(program: &reweave_script::language::Program, determinism: &Determinism) -> Expected {
    let analysed = Program::new(program, Settings { context: 2, memories: false, ..Settings::default() });
    let line = |at: Point| (program.file.clone(), analysed.skeleton.statement(at.statement).position.line);
    let mut expected = Expected::default();
    let mut lines: Vec<BTreeSet<Line>> = determinism.locations.iter().map(|_| BTreeSet::new()).collect();
    for (at, read) in &analysed.accesses.reads {
        expected.reads.insert(line(*at));
        if read.unknown {
            expected.unknown.insert(line(*at));
        }
        for seen in &read.seen {
            let before = seen.before.iter().filter_map(|source| match source {
                Source::System => None,
                Source::Write(point) => Some(*point),
            });
            for source in before.chain(seen.beside.iter().copied()) {
                expected.flows.insert((line(*at), line(source)));
            }
            if let Some(lines) = lines.get_mut(seen.location.index()) {
                lines.insert(line(*at));
            }
        }
    }
    for (at, write) in &analysed.accesses.writes {
        expected.writes.insert(line(*at));
        expected.blind |= write.unknown;
        for location in &write.locations {
            if let Some(lines) = lines.get_mut(location.index()) {
                lines.insert(line(*at));
            }
        }
    }
    for (item, lines) in determinism.locations.iter().zip(lines) {
        expected.add_location(item, lines);
    }
    expected
}
