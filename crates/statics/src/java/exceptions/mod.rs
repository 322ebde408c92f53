//! What statements may throw, and which handlers catch it.
//!
//! Of the library it is known which calls throw nothing (`safe` in its models); all others may throw anything but
//! interrupts, which only those that wait throw, and only if somebody interrupts. What the machine itself throws where
//! memory or the stack are used up is left out.

mod causes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub use causes::Cause;
use causes::{Finder, Known};

use super::code::{Block, Code, Handler, Name, Names};
use super::models::Models;
use super::nullness::Nullness;
use super::solve::{FrameId, Point, Solver};
use super::threads::Threads;

/// Classes of exceptions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thrown {
    pub classes: BTreeSet<Name>,
    /// Any class, but for interrupts.
    pub any: bool,
}

impl Thrown {
    pub fn any() -> Self {
        Self { any: true, ..Self::default() }
    }

    pub fn is_nothing(&self) -> bool {
        self.classes.is_empty() && !self.any
    }

    /// Whether there is more now.
    pub fn add(&mut self, more: &Self) -> bool {
        let before = (self.classes.len(), self.any);
        self.classes.extend(&more.classes);
        self.any |= more.any;
        before != (self.classes.len(), self.any)
    }
}

/// Whether a handler gets an exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Catches {
    Never,
    Maybe,
    Always,
}

pub struct Exceptions<'s, 'a> {
    solver: &'s Solver<'a>,
    known: Known,
    /// By point, where there are any.
    causes: BTreeMap<Point, Vec<Cause>>,
    /// What may leave frames at all.
    escapes: Vec<Thrown>,
    /// What handlers may get.
    arrives: HashMap<(FrameId, Block), Thrown>,
}

impl<'s, 'a> Exceptions<'s, 'a> {
    /// `within`: accesses to arrays whose index surely lies within. Threads, if they are known already.
    pub fn new(
        solver: &'s Solver<'a>,
        nullness: &Nullness<'s, 'a>,
        within: &HashSet<Point>,
        threads: Option<&Threads>,
    ) -> Self {
        let finder = Finder::new(solver, nullness, within, threads);
        let reached = |at: &Point| solver.frames[at.frame.index()].body.graph.reached[at.block as usize];
        let causes = solver.points().filter(reached).map(|at| (at, finder.causes(at)));
        let mut exceptions = Self {
            solver,
            known: Known::new(solver),
            causes: causes.filter(|(_, causes)| !causes.is_empty()).collect(),
            escapes: vec![Thrown::default(); solver.frames.len()],
            arrives: HashMap::new(),
        };
        exceptions.solve();
        exceptions
    }

    /// Interned before anything is asked: exceptions that code does not name are thrown all the same.
    pub fn prepare(names: &mut Names, models: &Models) {
        Known::prepare(names);
        for class in models.thrown() {
            names.add(class);
        }
    }

    fn solve(&mut self) {
        // Whoever waits for a task gets what it throws.
        let mut waits: HashMap<FrameId, BTreeSet<FrameId>> = HashMap::new();
        for (at, causes) in &self.causes {
            for task in causes.iter().flat_map(|cause| &cause.tasks) {
                waits.entry(*task).or_default().insert(at.frame);
            }
        }
        let mut rest: BTreeSet<FrameId> = self.causes.keys().map(|at| at.frame).collect();
        while let Some(frame) = rest.pop_first() {
            while self.hand_over(frame) {}
            if self.leave(frame) {
                rest.extend(self.solver.frames[frame.index()].callers.iter().map(|caller| caller.frame));
                rest.extend(waits.get(&frame).into_iter().flatten());
            }
        }
    }

    fn points(&self, frame: FrameId) -> Vec<Point> {
        let from = Point { frame, block: 0, index: 0 };
        let to = Point { frame: FrameId(frame.0 + 1), block: 0, index: 0 };
        self.causes.range(from..to).map(|(at, _)| *at).collect()
    }

    /// Gives to handlers what they may get; whether there was anything new.
    fn hand_over(&mut self, frame: FrameId) -> bool {
        let mut grew = false;
        for at in self.points(frame) {
            let mut rest = self.possible(at);
            for handler in &self.code(frame).blocks[at.block as usize].handlers {
                if rest.is_nothing() {
                    break;
                }
                let caught = self.part(&rest, handler);
                if !caught.is_nothing() {
                    grew |= self.arrives.entry((frame, handler.to)).or_default().add(&caught);
                }
                rest = self.uncaught(&rest, std::slice::from_ref(handler));
            }
        }
        grew
    }

    fn leave(&mut self, frame: FrameId) -> bool {
        let mut all = Thrown::default();
        for at in self.points(frame) {
            all.add(&self.uncaught(&self.possible(at), &self.code(frame).blocks[at.block as usize].handlers));
        }
        self.escapes[frame.index()].add(&all)
    }

    /// Whether a handler of a block may get anything that is thrown there.
    pub fn is_caught_in(&self, frame: FrameId, block: Block) -> bool {
        let own = &self.code(frame).blocks[block as usize];
        !own.handlers.is_empty()
            && (0..own.statements.len() as u32).any(|index| {
                let thrown = self.possible(Point { frame, block, index });
                own.handlers.iter().any(|handler| !self.part(&thrown, handler).is_nothing())
            })
    }

    /// What of it a handler may get.
    fn part(&self, thrown: &Thrown, handler: &Handler) -> Thrown {
        let may = |class: Option<Name>| self.catches(handler.class, class) != Catches::Never;
        Thrown {
            classes: thrown.classes.iter().copied().filter(|class| may(Some(*class))).collect(),
            any: thrown.any && may(None),
        }
    }

    fn code(&self, frame: FrameId) -> &'s Code {
        &self.solver.frames[frame.index()].body.code
    }

    /// What may be thrown at a point, whatever it depends on.
    pub fn possible(&self, at: Point) -> Thrown {
        let mut all = Thrown::default();
        for cause in self.causes(at) {
            all.add(&cause.thrown);
            if let Some(handler) = cause.again {
                self.arrives.get(&(at.frame, handler)).into_iter().for_each(|caught| {
                    all.add(caught);
                });
            }
            for callee in &cause.callees {
                all.add(&self.escapes[callee.index()]);
            }
            if cause.tasks.iter().any(|task| !self.escapes[task.index()].is_nothing()) {
                all.add(&cause.wrapped);
            }
        }
        all
    }

    /// What a handler may get.
    pub fn arriving(&self, frame: FrameId, handler: Block) -> Thrown {
        self.arrives.get(&(frame, handler)).cloned().unwrap_or_default()
    }

    /// What may leave a frame at all.
    pub fn escaping(&self, frame: FrameId) -> &Thrown {
        &self.escapes[frame.index()]
    }

    /// What may be thrown at a point, and what it depends on.
    pub fn causes(&self, at: Point) -> &[Cause] {
        self.causes.get(&at).map_or(&[], |causes| causes)
    }

    /// What of it no handler surely catches.
    pub fn uncaught(&self, thrown: &Thrown, handlers: &[Handler]) -> Thrown {
        let surely =
            |class: Option<Name>| handlers.iter().any(|handler| self.catches(handler.class, class) == Catches::Always);
        Thrown {
            classes: thrown.classes.iter().copied().filter(|class| !surely(Some(*class))).collect(),
            any: thrown.any && !surely(None),
        }
    }

    /// Handlers that may get some of it.
    pub fn caught_by(&self, thrown: &Thrown, handlers: &[Handler]) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut rest = thrown.clone();
        for handler in handlers {
            if !self.part(&rest, handler).is_nothing() {
                blocks.push(handler.to);
            }
            rest = self.uncaught(&rest, std::slice::from_ref(handler));
        }
        blocks
    }

    /// Whether a handler of a class gets exceptions of another; none: of any, but for interrupts.
    fn catches(&self, handler: Option<Name>, thrown: Option<Name>) -> Catches {
        let Some(handler) = handler else { return Catches::Always };
        let names = &self.solver.classes.names;
        let wanted = names.text(handler);
        if wanted == "java/lang/Throwable" {
            return Catches::Always;
        }
        let Some(thrown) = thrown else {
            let is_interrupt = handler == self.known.interrupted || handler == self.known.broken;
            return if is_interrupt { Catches::Never } else { Catches::Maybe };
        };
        let mut at = thrown;
        for above in self.solver.classes.line(thrown) {
            if above == handler {
                return Catches::Always;
            }
            at = above;
        }
        // From here on the library knows.
        let line = self.solver.models.line_of(names.text(at));
        if line.iter().any(|above| above == wanted) {
            return Catches::Always;
        }
        // Something below it may be what is thrown.
        let is_above = self
            .solver
            .classes
            .above(handler)
            .into_iter()
            .any(|above| above == thrown || self.solver.models.is(names.text(above), names.text(thrown)));
        match !is_above && line.iter().any(|above| above == "java/lang/Throwable") {
            true => Catches::Never,
            false => Catches::Maybe,
        }
    }
}
