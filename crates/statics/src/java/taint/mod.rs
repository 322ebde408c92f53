//! What depends on the order in which threads happen to run.
//!
//! A read that has a choice is **tainted**; so is what is computed from it, what is executed or not because of it,
//! writes of such values or at such places, and reads that see those. Guarantee: a read that has no choice and is not
//! tainted returns the same in all executions of one input that end normally, and is executed in all or in none.
//!
//! Control: a block is *decided* if a tainted branch, or an exception that is thrown or not because of a choice, says
//! whether it is reached ([`raised`]); where two ways meet, what differs between them is tainted if either is decided.
//!
//! All of it remembers the first choice that it was found to follow from ([`because`]).

mod because;
mod calls;
mod raised;

use std::collections::{BTreeMap, BTreeSet};

use because::Marks;
pub use because::{Because, Manner, Root};

use super::code::{Block, Def, How, Kind, Name, Place, Value};
use super::conflicts::{AccessId, Choices, OrderFree};
use super::exceptions::Thrown;
use super::models::Word;
use super::solve::{Birth, FrameId, Point, Solver, ThreadId};
use crate::bits::Bits;

pub struct Taint {
    values: Vec<Marks>,
    /// Decided by something in the same frame.
    blocks: Vec<Marks>,
    /// Called or started because of a choice.
    frames: Marks,
    pub writes: BTreeMap<AccessId, (Manner, Because)>,
    /// Frames whose result differs.
    returns: Marks,
    /// What leaves frames, or does not, because of a choice.
    thrown: Vec<Thrown>,
    /// The same, piece by piece as it was found.
    thrown_because: Vec<Vec<(Thrown, Because)>>,
    /// Frames in which the program ends, or does not, because of a choice.
    exits: Marks,
    /// The first statement of a block that ends normally, or does not, because of a choice.
    cut: BTreeMap<(FrameId, Block), (u32, Because)>,
    parameters: Vec<Marks>,
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
            values: vec![Marks::default(); count],
            blocks: vec![Marks::default(); count],
            frames: Marks::default(),
            writes: BTreeMap::new(),
            returns: Marks::default(),
            thrown: vec![Thrown::default(); count],
            thrown_because: vec![Vec::new(); count],
            exits: Marks::default(),
            cut: BTreeMap::new(),
            parameters: vec![Marks::default(); count],
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
            thrown: None,
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
        self.decided(at).is_some()
    }

    /// The choice because of which it is executed or not.
    pub fn decided(&self, at: Point) -> Option<Because> {
        let cut = || self.cut.get(&(at.frame, at.block)).filter(|(index, _)| *index < at.index).map(|(_, why)| *why);
        let block = || self.blocks[at.frame.index()].get(at.block as usize);
        self.frames.get(at.frame.index()).or_else(block).or_else(cut)
    }

    /// What ends a frame, or does not, because of a choice.
    pub fn thrown(&self, frame: FrameId) -> &Thrown {
        &self.thrown[frame.index()]
    }

    pub fn thrown_because(&self, frame: FrameId) -> Option<Because> {
        self.thrown_because[frame.index()].first().map(|(_, because)| *because)
    }

    pub fn exits(&self, frame: FrameId) -> bool {
        self.exits.contains(frame.index())
    }

    /// The choice because of which what a frame returns differs.
    pub fn returned(&self, frame: FrameId) -> Option<Because> {
        self.returns.get(frame.index())
    }

    pub fn is_tainted(&self, frame: FrameId, value: Value) -> bool {
        self.values[frame.index()].contains(value.index())
    }

    /// The choice because of which a value differs.
    pub fn value(&self, frame: FrameId, value: Value) -> Option<Because> {
        self.values[frame.index()].get(value.index())
    }
}

/// Classes of static methods that are called and not understood, and where the first one is.
fn opaque_classes(solver: &Solver<'_>) -> BTreeMap<Name, Point> {
    let opaque = solver.used.iter().filter(|(_, used)| used.iter().any(|one| one.model.has(Word::Opaque)));
    let calls = opaque.filter_map(|(at, _)| Some((*at, solver.call_at(*at)?)));
    let mut classes = BTreeMap::new();
    for (at, call) in calls.filter(|(_, call)| call.how == How::Static) {
        classes.entry(call.method.class).or_insert(at);
    }
    classes
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
    opaque_classes: BTreeMap<Name, Point>,
    /// There is one thread.
    is_alone: bool,
    /// Only main makes threads, so their numbers are fixed.
    threads_of_main: bool,
    /// Which object is thrown somewhere depends on a choice.
    thrown: Option<Because>,
}

impl Flow<'_, '_> {
    fn set(&mut self, frame: FrameId, value: Value, because: Because) {
        self.changed |= self.taint.values[frame.index()].insert(value.index(), because);
    }

    fn is(&self, frame: FrameId, value: Value) -> Option<Because> {
        self.taint.value(frame, value)
    }

    fn frame(&mut self, frame: FrameId) {
        let body = self.solver.frames[frame.index()].body.clone();
        for (at, info) in body.code.values.iter().enumerate() {
            let value = Value(at as u32);
            if self.taint.is_tainted(frame, value) {
                continue;
            }
            let because = match &info.def {
                Def::Parameter(index) => self.taint.parameters[frame.index()].get(*index as usize),
                Def::Phi(all) => {
                    let decided = |from: &Block| {
                        let cut = || self.taint.cut.get(&(frame, *from)).map(|(_, because)| *because);
                        let branches = || match body.code.blocks[*from as usize].next.len() {
                            0 | 1 => None,
                            _ => self.branches(frame, *from),
                        };
                        self.taint.blocks[frame.index()].get(*from as usize).or_else(cut).or_else(branches)
                    };
                    let ways = all.iter().map(|(from, one)| self.is(frame, *one).or_else(|| decided(from)));
                    ways.flatten().min()
                }
                Def::Caught => self.thrown.or_else(|| self.catches_differing(frame, info.block)),
                _ => body.code.operands(value).into_iter().filter_map(|one| self.is(frame, one)).min(),
            };
            if let Some(because) = because {
                self.set(frame, value, because);
            }
        }
        for (block, code) in body.code.blocks.iter().enumerate().filter(|(at, _)| body.graph.reached[*at]) {
            for index in 0..code.statements.len() {
                self.statement(Point { frame, block: block as Block, index: index as u32 });
            }
            let local = self.taint.blocks[frame.index()].get(block);
            let several = code.next.len() > 1 || self.catches[frame.index()].contains(block);
            let because = local.filter(|_| several).or_else(|| self.branches(frame, block as Block));
            if let Some(because) = because {
                self.decide(frame, block as Block, because);
            }
        }
    }

    /// Which way a block goes on differs.
    fn decide(&mut self, frame: FrameId, block: Block, because: Because) {
        let body = self.solver.frames[frame.index()].body.clone();
        for decided in &body.graph.decides[block as usize] {
            self.changed |= self.taint.blocks[frame.index()].insert(*decided as usize, because);
        }
    }

    /// Whether a block ends in a branch on something tainted.
    fn branches(&self, frame: FrameId, block: Block) -> Option<Because> {
        let code = &self.solver.frames[frame.index()].body.code;
        match code.blocks[block as usize].statements.last().map(|last| &last.kind) {
            Some(Kind::Branch(_, left, right)) => {
                self.is(frame, *left).or_else(|| right.and_then(|right| self.is(frame, right)))
            }
            Some(Kind::Switch(value)) => self.is(frame, *value),
            _ => None,
        }
    }

    /// Whether what a value refers to differs: not if it can be one object only.
    fn moves(&self, frame: FrameId, base: Value) -> Option<Because> {
        let because = self.is(frame, base)?;
        match self.solver.objects_of(frame, base)[..] {
            [object] if self.choices.threads.is_single(self.solver, object) => None,
            _ => Some(because),
        }
    }

    /// Whether what a read returns differs.
    fn reads(&self, id: AccessId) -> Option<Because> {
        if self.taint.choices.contains(&id) {
            return Some(Because::new(Root::Read(id)));
        }
        let access = &self.choices.accesses.all[id];
        let all = &self.choices.accesses.by_location[&access.location];
        all.iter().find_map(|write| {
            let (_, because) = self.taint.writes.get(write)?;
            let from = self.choices.accesses.all[*write].at;
            self.choices.threads.may_precede(self.solver, from, access.at).then_some(*because)
        })
    }

    /// Accesses of one statement write, or what they write differs, because of a choice.
    fn writes(&mut self, id: AccessId, value: Option<Because>, executed: Option<Because>, place: Option<Because>) {
        let all = [(Manner::Value, value), (Manner::Executed, executed), (Manner::Place, place)];
        let known = all.into_iter().filter_map(|(manner, because)| Some((manner, because?.further())));
        if let Some(first) = known.min_by_key(|(_, because)| *because)
            && !self.taint.writes.contains_key(&id)
        {
            self.taint.writes.insert(id, first);
            self.changed = true;
        }
    }

    /// What leaves a frame, or does not, because of a choice.
    fn throws(&mut self, frame: FrameId, thrown: &Thrown, because: Because) {
        if self.taint.thrown[frame.index()].add(thrown) {
            self.taint.thrown_because[frame.index()].push((thrown.clone(), because.further()));
            self.changed = true;
        }
    }

    /// Code that is not understood may touch what is accessed at a point.
    fn touched(&self, at: Point, ids: &[AccessId]) -> Option<Because> {
        let unknown = self.choices.accesses.unknown_loads.contains(&at)
            || ids.iter().any(|id| self.choices.accesses.is_unknown(self.choices.accesses.all[*id].location));
        unknown.then_some(Because::new(Root::Touched(at)))
    }

    fn statement(&mut self, at: Point) {
        let decided = self.taint.decided(at);
        let frame = at.frame;
        let ids = self.choices.accesses.by_point.get(&at).cloned().unwrap_or_default();
        let raised = self.raises(at);
        let moves = |flow: &Self, place: &Place| {
            place.values().into_iter().enumerate().find_map(|(index, one)| match index {
                0 => flow.moves(frame, one),
                _ => flow.is(frame, one),
            })
        };
        match self.solver.statement_at(at).kind.clone() {
            Kind::Define(value) => {
                let code = self.solver.code(at);
                let Def::Load(place) = code.def(value) else { return };
                let reads = || ids.iter().find_map(|id| self.reads(*id));
                let because = reads().or_else(|| moves(self, place)).or_else(|| self.touched(at, &ids));
                if let Some(because) = because {
                    self.set(frame, value, because);
                }
            }
            Kind::Store(place, value) => {
                let (moved, value) = (moves(self, &place), self.is(frame, value));
                ids.into_iter().for_each(|id| self.writes(id, value, decided.or(raised), moved));
            }
            Kind::Call(call) => self.call(at, &call, decided.or(raised), &ids),
            Kind::Throw(value) if self.thrown.is_none() => {
                self.thrown = self.is(frame, value);
                self.changed |= self.thrown.is_some();
            }
            Kind::Return(value) => {
                let code = &self.solver.frames[frame.index()].body.code;
                let returns = code
                    .blocks
                    .iter()
                    .filter(|block| matches!(block.statements.last().map(|last| &last.kind), Some(Kind::Return(_))));
                let several = returns.count() > 1;
                let local = || self.taint.blocks[frame.index()].get(at.block as usize).filter(|_| several);
                if let Some(because) = value.and_then(|value| self.is(frame, value)).or_else(local) {
                    self.changed |= self.taint.returns.insert(frame.index(), because);
                }
            }
            _ => {}
        }
    }
}
