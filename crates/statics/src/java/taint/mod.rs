//! What depends on the order in which threads happen to run.
//!
//! A read that has a choice is **tainted**; so is what is computed from it, what is executed or not because of it,
//! writes of such values or at such places, and reads that see those. Guarantee: a read that has no choice and is not
//! tainted returns the same in all executions of one input that end normally, and is executed in all or in none.
//!
//! Control: a block is *decided* if a tainted branch, or an exception that is thrown or not because of a choice, says
//! whether it is reached ([`raised`]); where two ways meet, what differs between them is tainted if either is decided.

mod calls;
mod raised;

use std::collections::{BTreeMap, BTreeSet};

use super::accesses::Location;
use super::code::{Block, Def, How, Kind, Name, Value};
use super::conflicts::{AccessId, Choices, OrderFree};
use super::exceptions::Thrown;
use super::models::Word;
use super::solve::{Birth, FrameId, Point, Solver, ThreadId};
use crate::bits::Bits;

pub struct Taint {
    pub values: Vec<Bits>,
    /// Decided by something in the same frame.
    blocks: Vec<Bits>,
    /// Called or started because of a choice.
    frames: Bits,
    pub writes: BTreeSet<AccessId>,
    /// Frames whose result differs.
    returns: Bits,
    /// What leaves frames, or does not, because of a choice.
    thrown: Vec<Thrown>,
    /// Frames in which the program ends, or does not, because of a choice.
    exits: Bits,
    /// The first statement of a block that ends normally, or does not, because of a choice.
    cut: BTreeMap<(FrameId, Block), u32>,
    parameters: Vec<Bits>,
    /// Reads that have a choice.
    pub choices: BTreeSet<AccessId>,
    /// The budget was used up before everything was found.
    pub incomplete: bool,
}

impl Taint {
    pub fn new(choices: &Choices<'_, '_>, free: &OrderFree) -> Self {
        let solver = choices.solver;
        let count = solver.frames.len();
        let mut taint = Self {
            values: vec![Bits::default(); count],
            blocks: vec![Bits::default(); count],
            frames: Bits::default(),
            writes: BTreeSet::new(),
            returns: Bits::default(),
            thrown: vec![Thrown::default(); count],
            exits: Bits::default(),
            cut: BTreeMap::new(),
            parameters: vec![Bits::default(); count],
            choices: BTreeSet::new(),
            incomplete: false,
        };
        for (id, access) in choices.accesses.all.iter().enumerate().filter(|(_, access)| access.reads) {
            if !choices.matter(access.location, Some(id), free).is_empty() {
                taint.choices.insert(id);
            }
        }
        let mut flow = Flow {
            choices,
            solver,
            taint,
            changed: true,
            catches: choices.catches(),
            opaque_classes: opaque_classes(solver),
            is_alone: solver.threads.iter().all(|one| matches!(one.birth, Birth::Main | Birth::Initialiser(_))),
            threads_of_main: names_are_fixed(solver),
            thrown: false,
        };
        flow.cancelled();
        while std::mem::replace(&mut flow.changed, false) {
            if solver.deadline.is_some_and(|deadline| std::time::Instant::now() > deadline) {
                flow.taint.incomplete = true;
                break;
            }
            (0..count).for_each(|at| flow.frame(FrameId(at as u32)));
            flow.beginnings();
        }
        flow.taint
    }

    /// Executed or not because of a choice.
    pub fn is_decided(&self, at: Point) -> bool {
        self.frames.contains(at.frame.index())
            || self.blocks[at.frame.index()].contains(at.block as usize)
            || self.cut.get(&(at.frame, at.block)).is_some_and(|index| *index < at.index)
    }

    /// What ends a frame, or does not, because of a choice.
    pub fn thrown(&self, frame: FrameId) -> &Thrown {
        &self.thrown[frame.index()]
    }

    pub fn exits(&self, frame: FrameId) -> bool {
        self.exits.contains(frame.index())
    }

    pub fn returns_tainted(&self, frame: FrameId) -> bool {
        self.returns.contains(frame.index())
    }

    pub fn is_tainted(&self, frame: FrameId, value: Value) -> bool {
        self.values[frame.index()].contains(value.index())
    }
}

/// Classes of static methods that are called and not understood.
fn opaque_classes(solver: &Solver<'_>) -> BTreeSet<Name> {
    let opaque = solver.used.iter().filter(|(_, used)| used.iter().any(|one| one.model.has(Word::Opaque)));
    let calls = opaque.filter_map(|(at, _)| solver.call_at(*at)).filter(|call| call.how == How::Static);
    calls.map(|call| call.method.class).collect()
}

/// Whether main alone makes objects that are threads (they have numbers, started or not), and nobody else does.
fn names_are_fixed(solver: &Solver<'_>) -> bool {
    let by_main = solver.threads.iter().all(|one| match one.birth {
        Birth::Started(_) | Birth::Main | Birth::Initialiser(_) => true,
        Birth::Task(..) | Birth::Anywhere => false,
    });
    by_main
        && solver.objects.iter().filter(|one| one.thread != ThreadId::MAIN).all(|one| {
            let line = solver.classes.line(one.class);
            !line.iter().any(|class| solver.classes.names.text(*class) == "java/lang/Thread")
        })
}

struct Flow<'s, 'a> {
    choices: &'s Choices<'s, 'a>,
    solver: &'s Solver<'a>,
    taint: Taint,
    changed: bool,
    /// Blocks whose handlers may get anything, by frame.
    catches: Vec<Bits>,
    /// Library classes that something is asked of that is not understood.
    opaque_classes: BTreeSet<Name>,
    /// There is one thread.
    is_alone: bool,
    /// Only main makes threads, so their numbers are fixed.
    threads_of_main: bool,
    /// Which object is thrown somewhere depends on a choice.
    thrown: bool,
}

impl Flow<'_, '_> {
    fn set(&mut self, frame: FrameId, value: Value) {
        self.changed |= self.taint.values[frame.index()].insert(value.index());
    }

    fn is(&self, frame: FrameId, value: Value) -> bool {
        self.taint.is_tainted(frame, value)
    }

    fn frame(&mut self, frame: FrameId) {
        let body = self.solver.frames[frame.index()].body.clone();
        for (at, info) in body.code.values.iter().enumerate() {
            let value = Value(at as u32);
            if self.is(frame, value) {
                continue;
            }
            let tainted = match &info.def {
                Def::Parameter(index) => self.taint.parameters[frame.index()].contains(*index as usize),
                Def::Phi(all) => {
                    let decided = |from: &Block| {
                        self.taint.blocks[frame.index()].contains(*from as usize)
                            || self.taint.cut.contains_key(&(frame, *from))
                            || body.code.blocks[*from as usize].next.len() > 1 && self.branches(frame, *from)
                    };
                    all.iter().any(|(from, one)| self.is(frame, *one) || decided(from))
                }
                Def::Caught => self.thrown || self.catches_differing(frame, info.block),
                _ => body.code.operands(value).into_iter().any(|one| self.is(frame, one)),
            };
            if tainted {
                self.set(frame, value);
            }
        }
        for (block, code) in body.code.blocks.iter().enumerate().filter(|(at, _)| body.graph.reached[*at]) {
            for index in 0..code.statements.len() {
                self.statement(Point { frame, block: block as Block, index: index as u32 });
            }
            let local = self.taint.blocks[frame.index()].contains(block);
            let several = code.next.len() > 1 || self.catches[frame.index()].contains(block);
            if several && local || self.branches(frame, block as Block) {
                self.decide(frame, block as Block);
            }
        }
    }

    /// Which way a block goes on differs.
    fn decide(&mut self, frame: FrameId, block: Block) {
        let body = self.solver.frames[frame.index()].body.clone();
        for decided in &body.graph.decides[block as usize] {
            self.changed |= self.taint.blocks[frame.index()].insert(*decided as usize);
        }
    }

    /// Whether a block ends in a branch on something tainted.
    fn branches(&self, frame: FrameId, block: Block) -> bool {
        let code = &self.solver.frames[frame.index()].body.code;
        match code.blocks[block as usize].statements.last().map(|last| &last.kind) {
            Some(Kind::Branch(_, left, right)) => {
                self.is(frame, *left) || right.is_some_and(|right| self.is(frame, right))
            }
            Some(Kind::Switch(value)) => self.is(frame, *value),
            _ => false,
        }
    }

    /// Whether what a value refers to differs: not if it can be one object only.
    fn moves(&self, frame: FrameId, base: Value) -> bool {
        if !self.is(frame, base) {
            return false;
        }
        match self.solver.objects_of(frame, base)[..] {
            [object] => !self.choices.threads.is_single(self.solver, object),
            _ => true,
        }
    }

    /// Whether what a read returns differs.
    fn reads(&self, id: AccessId) -> bool {
        let access = &self.choices.accesses.all[id];
        self.taint.choices.contains(&id) || self.sees_tainted(access.location, Some(access.at))
    }

    fn sees_tainted(&self, location: Location, at: Option<Point>) -> bool {
        let all = &self.choices.accesses.by_location[&location];
        all.iter().any(|write| {
            self.taint.writes.contains(write)
                && at.is_none_or(|at| {
                    self.choices.threads.may_precede(self.solver, self.choices.accesses.all[*write].at, at)
                })
        })
    }

    fn statement(&mut self, at: Point) {
        let decided = self.taint.is_decided(at);
        let frame = at.frame;
        let ids = self.choices.accesses.by_point.get(&at).cloned().unwrap_or_default();
        let raised = self.raises(at);
        match self.solver.statement_at(at).kind.clone() {
            Kind::Define(value) => {
                let code = self.solver.code(at);
                let Def::Load(place) = code.def(value) else { return };
                let moves = place.values().into_iter().enumerate().any(|(index, one)| match index {
                    0 => self.moves(frame, one),
                    _ => self.is(frame, one),
                });
                let unknown = self.choices.accesses.unknown_loads.contains(&at)
                    || ids.iter().any(|id| self.choices.accesses.is_unknown(self.choices.accesses.all[*id].location));
                if moves || unknown || ids.iter().any(|id| self.reads(*id)) {
                    self.set(frame, value);
                }
            }
            Kind::Store(place, value) => {
                let moves = place.values().into_iter().enumerate().any(|(index, one)| match index {
                    0 => self.moves(frame, one),
                    _ => self.is(frame, one),
                });
                if decided || raised || moves || self.is(frame, value) {
                    ids.into_iter().for_each(|id| self.changed |= self.taint.writes.insert(id));
                }
            }
            Kind::Call(call) => self.call(at, &call, decided, raised, &ids),
            Kind::Throw(value) if self.is(frame, value) && !self.thrown => {
                self.thrown = true;
                self.changed = true;
            }
            Kind::Return(value) => {
                let code = &self.solver.frames[frame.index()].body.code;
                let returns = code
                    .blocks
                    .iter()
                    .filter(|block| matches!(block.statements.last().map(|last| &last.kind), Some(Kind::Return(_))));
                let local = self.taint.blocks[frame.index()].contains(at.block as usize);
                let tainted = value.is_some_and(|value| self.is(frame, value)) || local && returns.count() > 1;
                if tainted {
                    self.changed |= self.taint.returns.insert(frame.index());
                }
            }
            _ => {}
        }
    }
}
