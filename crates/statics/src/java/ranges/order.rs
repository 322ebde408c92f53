//! Which writes a read may see.
//!
//! A write is seen unless it surely comes after the read, or another one surely comes between them. Where a frame is
//! called from one place only, and a thread started at one place only, a point is compared as the call or the start
//! that leads to it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::super::accesses::{Access, Location};
use super::super::code::{Def, Kind};
use super::super::conflicts::AccessId;
use super::super::judge::Facts;
use super::super::solve::{Birth, FrameId, Point, ThreadId};

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// What is there from the start.
    System,
    Write(AccessId),
    /// Any write there is.
    All,
}

/// Beyond so many writes of one location nothing is hidden by another one.
const MOST: usize = 200;
/// Calls and starts that are followed upwards.
const DEPTH: usize = 48;

pub struct Sources<'f, 's, 'a> {
    facts: &'f Facts<'s, 'a>,
    lines: RefCell<HashMap<FrameId, Rc<Vec<Point>>>>,
}

impl<'f, 's, 'a> Sources<'f, 's, 'a> {
    pub fn new(facts: &'f Facts<'s, 'a>) -> Self {
        Self { facts, lines: RefCell::default() }
    }

    /// The same as [`Self::at`], where many writes are not told apart.
    pub fn brief(&self, location: Location, at: Point) -> Vec<Source> {
        let all = self.facts.accesses.by_location.get(&location).into_iter().flatten();
        match all.filter(|id| self.facts.accesses.all[**id].writes).count() > MOST {
            true => vec![Source::System, Source::All],
            false => self.at(location, at),
        }
    }

    /// All that a read of a location at a point may see.
    pub fn at(&self, location: Location, at: Point) -> Vec<Source> {
        let (accesses, threads, solver) = (&self.facts.accesses, &self.facts.threads, self.facts.solver);
        let all = accesses.by_location.get(&location).into_iter().flatten().copied();
        let writes: Vec<AccessId> = all.filter(|id| accesses.all[*id].writes).collect();
        let few = writes.len() <= MOST;
        let last: Vec<AccessId> = match few {
            true => writes.iter().copied().filter(|id| self.replaces(&accesses.all[*id], at)).collect(),
            false => Vec::new(),
        };
        let mut sources = Vec::new();
        if last.is_empty() && !self.is_made_full(location, &writes, at) {
            sources.push(Source::System);
        }
        for write in writes {
            let from = accesses.all[write].at;
            let may = threads.parallel(solver, from, at) || threads.may_precede(solver, from, at);
            let hidden = || last.iter().any(|other| *other != write && self.all_before(from, accesses.all[*other].at));
            if may && !(few && (self.all_before(at, from) || hidden())) {
                sources.push(Source::Write(write));
            }
        }
        sources
    }

    /// Whether threads decide which of its sources a read sees, and not only the input.
    pub fn is_open(&self, location: Location, at: Point) -> bool {
        let (accesses, threads, solver) = (&self.facts.accesses, &self.facts.threads, self.facts.solver);
        let writes: Vec<Point> = self
            .at(location, at)
            .into_iter()
            .filter_map(|source| match source {
                Source::Write(id) => Some(accesses.all[id].at),
                Source::System | Source::All => None,
            })
            .collect();
        let beside = |one: Point, other: Point| threads.parallel(solver, one, other);
        writes
            .iter()
            .enumerate()
            .any(|(index, write)| beside(*write, at) || writes[index..].iter().any(|other| beside(*write, *other)))
    }

    /// A constructor, or who makes a function object, surely writes there before anybody else has the object.
    fn is_made_full(&self, location: Location, writes: &[AccessId], at: Point) -> bool {
        let solver = self.facts.solver;
        let Location::Field(object, field) = location else { return false };
        if solver.objects[object.index()].lambda.is_some() {
            return true;
        }
        let is_constructor = |frame: FrameId| {
            let own = &solver.frames[frame.index()];
            own.receiver == Some(object)
                && solver.classes.names.text(solver.classes.method(own.method).name) == "<init>"
        };
        let by_constructor = |id: &AccessId| {
            let access = &self.facts.accesses.all[*id];
            let code = solver.code(access.at);
            let own = access.base.is_some_and(|base| matches!(code.def(base), Def::Parameter(0)));
            let here = is_constructor(access.at.frame) && own;
            access.initialises && !access.library && here && self.is_sure(access.at)
        };
        let made = field != solver.element && writes.iter().any(by_constructor);
        made && !self.is_called_by(at.frame, &is_constructor)
    }

    /// Whether such a frame is among those that may call this one, itself included.
    fn is_called_by(&self, frame: FrameId, is_meant: &dyn Fn(FrameId) -> bool) -> bool {
        let (mut seen, mut rest) = (BTreeSet::from([frame]), vec![frame]);
        while let Some(at) = rest.pop() {
            if is_meant(at) || seen.len() > MOST {
                return true;
            }
            let callers = self.facts.solver.frames[at.index()].callers.iter().map(|caller| caller.frame);
            rest.extend(callers.filter(|caller| seen.insert(*caller)));
        }
        false
    }

    /// The calls and starts that lead to a frame, the nearest first.
    fn line(&self, frame: FrameId) -> Rc<Vec<Point>> {
        if let Some(known) = self.lines.borrow().get(&frame) {
            return known.clone();
        }
        let (mut line, mut at) = (Vec::new(), frame);
        while let Some(point) = self.from(at).filter(|_| line.len() < DEPTH) {
            line.push(point);
            at = point.frame;
        }
        let line = Rc::new(line);
        self.lines.borrow_mut().insert(frame, line.clone());
        line
    }

    fn from(&self, frame: FrameId) -> Option<Point> {
        let solver = self.facts.solver;
        let own = &solver.frames[frame.index()];
        let thread = &solver.threads[own.thread.index()];
        let mut callers = own.callers.iter();
        if !thread.entries.contains(&frame) {
            return match (callers.next(), callers.next()) {
                (Some(only), None) if !solver.callbacks.contains(only) => Some(*only),
                _ => None,
            };
        }
        let is_started = matches!(thread.birth, Birth::Started(_) | Birth::Task(..));
        let often = solver.often.contains(&own.thread);
        (is_started && !thread.is_folded && !often && own.callers.is_empty() && thread.starts.len() == 1)
            .then(|| thread.starts.first().copied())?
    }

    /// Which of the frames that main runs one after the other lead to two points.
    fn in_main(&self, one: Point, other: Point) -> Option<(usize, usize)> {
        let solver = self.facts.solver;
        let entries = &solver.threads[ThreadId::MAIN.index()].entries;
        let root = |at: Point| {
            let root = self.line(at.frame).last().map_or(at.frame, |last| last.frame);
            (solver.frames[root.index()].callers.is_empty()).then(|| entries.iter().position(|entry| *entry == root))?
        };
        Some((root(one)?, root(other)?))
    }

    /// Both points as points of the first frame that leads to both, and how many calls are in between.
    fn meet(&self, one: Point, other: Point) -> Option<(Point, Point, usize)> {
        let (above, beside) = (self.line(one.frame), self.line(other.frame));
        let points = |at: Point, line: Rc<Vec<Point>>| std::iter::once(at).chain((0..line.len()).map(move |i| line[i]));
        for (depth, a) in points(one, above).enumerate() {
            if let Some(b) = points(other, beside.clone()).find(|b| b.frame == a.frame) {
                return Some((a, b, depth));
            }
        }
        None
    }

    /// Whatever is executed of one statement comes before whatever is executed of the other.
    fn all_before(&self, one: Point, other: Point) -> bool {
        let (solver, threads) = (self.facts.solver, &self.facts.threads);
        if threads.parallel(solver, one, other) {
            return false;
        }
        let Some((a, b, _)) = self.meet(one, other) else {
            return self.in_main(one, other).is_some_and(|(first, then)| first < then);
        };
        if a == b && one != other {
            return false;
        }
        let frame = &solver.frames[a.frame.index()];
        if threads.is_repeated(a.frame) || threads.many[frame.thread.index()] {
            return false;
        }
        let graph = &frame.body.graph;
        match a.block == b.block {
            // What is executed once comes before nothing of its own.
            true => (a.index < b.index || a == b) && !graph.in_loop[a.block as usize],
            false => !graph.leads_to(b.block, a.block),
        }
    }

    /// A write that surely happens before a read, of one place for sure.
    fn replaces(&self, write: &Access, at: Point) -> bool {
        let solver = self.facts.solver;
        let is_one = match write.location {
            Location::Static(_) => true,
            Location::Field(object, field) => {
                let only = write.base.is_some_and(|base| solver.objects_of(write.at.frame, base) == [object]);
                only && field != solver.element && self.facts.threads.is_single(solver, object)
            }
        };
        let known = !write.library && write.value.is_some() && !write.reads;
        is_one && known && write.at != at && (self.comes_first(write.at, at) || self.is_initial(write, at))
    }

    /// By the initialiser of a class, which nobody else overtakes.
    fn is_initial(&self, write: &Access, at: Point) -> bool {
        let solver = self.facts.solver;
        let by = |point: Point| &solver.threads[solver.frames[point.frame.index()].thread.index()];
        let is_initialiser = |point: Point| matches!(by(point).birth, Birth::Initialiser(_));
        let own = write.initialises && is_initialiser(write.at) && by(write.at).entries.contains(&write.at.frame);
        own && !is_initialiser(at) && self.is_sure(write.at)
    }

    /// Whoever gets to a point has been at the other one before.
    fn comes_first(&self, one: Point, then: Point) -> bool {
        let solver = self.facts.solver;
        let line = self.line(one.frame);
        let meeting = self.meet(one, then);
        let depth = match meeting {
            Some((a, b, depth)) if a != b => depth,
            Some(_) => return false,
            None if self.in_main(one, then).is_some_and(|(first, then)| first < then) => line.len(),
            None => return false,
        };
        let inside = std::iter::once(one).chain(line.iter().copied()).take(depth);
        let sure = inside.zip(line.iter()).all(|(point, call)| {
            let only = solver.callees.get(call).is_some_and(|all| all.len() == 1);
            let is_call = solver.frames[point.frame.index()].callers.contains(call);
            let called = is_call && only && !solver.used.contains_key(call);
            // Whoever starts it must have waited for it, and it must not have failed before.
            let waited = || {
                let over = !self.facts.threads.parallel(solver, one, then);
                !is_call && over && self.facts.exceptions.escaping(point.frame).is_nothing()
            };
            (called || waited()) && self.is_sure(point)
        });
        sure && match meeting {
            Some((a, b, _)) => self.dominates(a, b),
            None => self.is_sure(line.last().copied().unwrap_or(one)),
        }
    }

    /// Whoever returns from the frame of a point has been there.
    fn is_sure(&self, at: Point) -> bool {
        let code = &self.facts.solver.frames[at.frame.index()].body.code;
        code.blocks.iter().enumerate().all(|(block, inside)| {
            let returns = inside.statements.iter().position(|one| matches!(one.kind, Kind::Return(_)));
            let end = |index: usize| Point { frame: at.frame, block: block as u32, index: index as u32 };
            returns.is_none_or(|index| self.dominates(at, end(index)))
        })
    }

    /// In one frame.
    fn dominates(&self, one: Point, then: Point) -> bool {
        let body = &self.facts.solver.frames[one.frame.index()].body;
        if one.block == then.block {
            return one.index < then.index;
        }
        // An exception before it is done leads elsewhere.
        let leaves = body.code.blocks[one.block as usize].caught_by();
        let mut early = leaves.filter(|to| *to == then.block || body.graph.leads_to(*to, then.block));
        body.graph.dominates(one.block, then.block) && early.next().is_none()
    }
}
