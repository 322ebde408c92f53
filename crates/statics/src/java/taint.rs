//! What depends on the order in which threads happen to run.
//!
//! A read that has a choice is **tainted**; so is what is computed from it, what is executed or not because of it,
//! writes of such values or at such places, and reads that see those. Guarantee: a read that has no choice and is not
//! tainted returns the same in all executions of one input that end normally, and is executed in all or in none.
//!
//! Control: a block is *decided* if a tainted branch, or a tainted exception that a handler catches, says whether it is
//! reached; where two ways meet, what differs between them is tainted if either is decided.

use std::collections::{BTreeMap, BTreeSet};

use super::accesses::Location;
use super::code::{Block, Call, Def, How, Kind, Op, Value};
use super::conflicts::{AccessId, Choices, OrderFree};
use super::models::Word;
use super::solve::{Birth, FrameId, Point, Solver, ThreadId};
use super::threads::{interrupts, threads_of};
use crate::bits::Bits;

pub struct Taint {
    pub values: Vec<Bits>,
    /// Decided by something in the same frame.
    blocks: Vec<Bits>,
    /// Called or started because of a choice.
    frames: Bits,
    pub writes: BTreeSet<AccessId>,
    /// Frames whose result differs, and those whose exceptions do.
    returns: Bits,
    throws: Bits,
    /// Frames that end early, by `throw` or the end of the program, because of a choice.
    leaves: Bits,
    /// The first statement of a block after which that may be so.
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
            throws: Bits::default(),
            leaves: Bits::default(),
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
            interrupts: interrupts(solver),
            is_alone: solver.threads.iter().all(|one| matches!(one.birth, Birth::Main | Birth::Initialiser(_))),
            threads_of_main: solver.threads.iter().all(|one| match one.birth {
                Birth::Started(object) => solver.objects[object.index()].thread == ThreadId::MAIN,
                Birth::Main | Birth::Initialiser(_) => true,
                Birth::Task(..) | Birth::Anywhere => false,
            }),
            thrown: false,
        };
        while std::mem::replace(&mut flow.changed, false) {
            if solver.deadline.is_some_and(|deadline| std::time::Instant::now() > deadline) {
                flow.taint.incomplete = true;
                break;
            }
            (0..count).for_each(|at| flow.frame(FrameId(at as u32)));
        }
        flow.taint
    }

    /// Executed or not because of a choice.
    pub fn is_decided(&self, at: Point) -> bool {
        self.frames.contains(at.frame.index())
            || self.blocks[at.frame.index()].contains(at.block as usize)
            || self.cut.get(&(at.frame, at.block)).is_some_and(|index| *index < at.index)
    }

    pub fn returns_tainted(&self, frame: FrameId) -> bool {
        self.returns.contains(frame.index())
    }

    pub fn is_tainted(&self, frame: FrameId, value: Value) -> bool {
        self.values[frame.index()].contains(value.index())
    }
}

struct Flow<'s, 'a> {
    choices: &'s Choices<'s, 'a>,
    solver: &'s Solver<'a>,
    taint: Taint,
    changed: bool,
    interrupts: bool,
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
                            || body.code.blocks[*from as usize].next.len() > 1 && self.branches(frame, *from)
                    };
                    all.iter().any(|(from, one)| self.is(frame, *one) || decided(from))
                }
                Def::Caught => self.thrown || self.taint.blocks[frame.index()].contains(info.block as usize),
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
            let caught = code.handlers.iter().any(|to| self.interrupts || !body.code.for_interrupts.contains(to));
            let several = code.next.len() > 1 || caught;
            let thrown = caught && self.throws_in(frame, block as Block);
            if thrown || several && local || self.branches(frame, block as Block) {
                for decided in &body.graph.decides[block] {
                    self.changed |= self.taint.blocks[frame.index()].insert(*decided as usize);
                }
            }
        }
        self.find_throws(frame);
        self.find_early_ends(frame);
    }

    /// What comes after a call that may not return, because of a choice, is done or not. Handlers do not help: whether
    /// they catch it is not looked at.
    fn find_early_ends(&mut self, frame: FrameId) {
        let body = self.solver.frames[frame.index()].body.clone();
        for (block, code) in body.code.blocks.iter().enumerate().filter(|(at, _)| body.graph.reached[*at]) {
            let local = self.taint.blocks[frame.index()].contains(block);
            if local && matches!(code.statements.last().map(|last| &last.kind), Some(Kind::Throw(_))) {
                self.changed |= self.taint.leaves.insert(frame.index());
            }
            let ends_early = |index: usize| {
                let at = Point { frame, block: block as Block, index: index as u32 };
                let mut callees = self.solver.callees.get(&at).into_iter().flatten();
                let mut used = self.solver.used.get(&at).into_iter().flatten();
                callees.any(|callee| self.taint.leaves.contains(callee.index()))
                    || local && used.any(|one| one.model.has(Word::Exit))
            };
            let Some(index) = (0..code.statements.len()).find(|index| ends_early(*index)) else { continue };
            self.changed |= self.taint.leaves.insert(frame.index());
            let known = self.taint.cut.entry((frame, block as Block)).or_insert(u32::MAX);
            if *known > index as u32 {
                *known = index as u32;
                self.changed = true;
            }
            let mut rest: Vec<Block> = code.next.clone();
            let mut seen = vec![false; body.code.blocks.len()];
            while let Some(at) = rest.pop() {
                if !std::mem::replace(&mut seen[at as usize], true) {
                    self.changed |= self.taint.blocks[frame.index()].insert(at as usize);
                    rest.extend(&body.code.blocks[at as usize].next);
                }
            }
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
                if decided || moves || self.is(frame, value) {
                    ids.into_iter().for_each(|id| self.changed |= self.taint.writes.insert(id));
                }
            }
            Kind::Call(call) => self.call(at, &call, decided, &ids),
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

    fn call(&mut self, at: Point, call: &Call, decided: bool, ids: &[AccessId]) {
        let frame = at.frame;
        let has_receiver = matches!(call.how, How::Special | How::Virtual);
        let moves = has_receiver && self.moves(frame, call.arguments[0]);
        let given = call.arguments.iter().enumerate().any(|(index, argument)| match index {
            0 if has_receiver => moves,
            _ => self.is(frame, *argument),
        });
        let held = ids.iter().any(|id| self.choices.accesses.all[*id].reads && self.reads(*id));
        let held = held || self.holds_tainted_result(at, call);
        self.stages(at, given || held);
        let callees = self.solver.callees.get(&at).cloned().unwrap_or_default();
        let back = self.solver.callbacks.contains(&at);
        let mut returned = false;
        for callee in &callees {
            if decided || moves && callees.len() > 1 {
                self.changed |= self.taint.frames.insert(callee.index());
            }
            let count = self.solver.frames[callee.index()].body.code.parameters.len();
            for index in 0..count {
                let tainted = match call.arguments.get(index) {
                    Some(argument) if !back => self.is(frame, *argument),
                    _ => given || held,
                };
                if tainted {
                    self.changed |= self.taint.parameters[callee.index()].insert(index);
                }
            }
            returned |= self.taint.returns.contains(callee.index());
        }
        if decided {
            for thread in self.solver.started.get(&at).into_iter().flatten() {
                for entry in &self.solver.threads[thread.index()].entries {
                    self.changed |= self.taint.frames.insert(entry.index());
                }
            }
        }
        let used = self.solver.used.get(&at).cloned().unwrap_or_default();
        let mut outcome = returned && (!used.is_empty() || !callees.is_empty());
        for one in &used {
            let word = |word: Word| one.model.has(word);
            outcome |= word(Word::Choice) && !self.is_alone || word(Word::Opaque);
            outcome |= word(Word::ThreadName) && !self.threads_of_main;
            if word(Word::Joins) {
                let started = self.solver.started.get(&at).into_iter().flatten();
                let mut entries = started.flat_map(|thread| &self.solver.threads[thread.index()].entries);
                outcome |= entries.any(|entry| self.taint.returns.contains(entry.index()));
            }
            if word(Word::Join) && word(Word::Gives) {
                for object in self.solver.objects_of(frame, call.arguments[0]) {
                    let entries = threads_of(self.solver, object)
                        .into_iter()
                        .flat_map(|thread| self.solver.threads[thread.index()].entries.clone());
                    outcome |= entries.into_iter().any(|entry| self.taint.returns.contains(entry.index()));
                }
            }
        }
        let unknown = ids.iter().any(|id| self.choices.accesses.is_unknown(self.choices.accesses.all[*id].location));
        let functional = !used.is_empty() || matches!(call.how, How::Concat | How::Unknown);
        let tainted = outcome || moves && callees.len() > 1 || functional && (given || held || unknown);
        if let Some(to) = call.to.filter(|_| tainted) {
            self.set(frame, to);
        }
        for id in ids {
            let access = &self.choices.accesses.all[*id];
            let value = match access.value {
                Some(value) => self.is(frame, value),
                None => given || held || outcome || returned && back,
            };
            if access.writes && (decided || value || moves) {
                self.changed |= self.taint.writes.insert(*id);
            }
        }
    }

    /// Whether what a task returned, whose future is given, differs.
    fn holds_tainted_result(&self, at: Point, call: &Call) -> bool {
        if !self.solver.used.contains_key(&at) {
            return false;
        }
        call.arguments.iter().flat_map(|argument| self.solver.objects_of(at.frame, *argument)).any(|object| {
            let mut entries =
                threads_of(self.solver, object).into_iter().flat_map(|one| &self.solver.threads[one.index()].entries);
            entries.any(|entry| self.taint.returns.contains(entry.index()))
        })
    }

    /// Tasks that get what the call is given: stages of futures, parts of streams.
    fn stages(&mut self, at: Point, tainted: bool) {
        if !tainted {
            return;
        }
        for thread in self.solver.started.get(&at).into_iter().flatten() {
            for entry in &self.solver.threads[thread.index()].entries {
                let count = self.solver.frames[entry.index()].body.code.parameters.len();
                for index in 1..count {
                    self.changed |= self.taint.parameters[entry.index()].insert(index);
                }
            }
        }
    }

    /// Whether something in a block may throw because of a choice.
    fn throws_in(&self, frame: FrameId, block: Block) -> bool {
        let code = &self.solver.frames[frame.index()].body.code;
        let statements = code.blocks[block as usize].statements.iter().enumerate();
        let mut statements = statements.filter(|(index, statement)| {
            let at = Point { frame, block, index: *index as u32 };
            match &statement.kind {
                Kind::Define(value) => code.mentioned(*value).into_iter().any(|one| self.is(frame, one)),
                Kind::Store(place, _) => place.values().into_iter().any(|one| self.is(frame, one)),
                Kind::Throw(value) => self.is(frame, *value),
                Kind::Call(call) => {
                    let callees = self.solver.callees.get(&at).into_iter().flatten();
                    let used = self.solver.used.get(&at);
                    let interruptible = used
                        .into_iter()
                        .flatten()
                        .any(|one| [Word::Join, Word::Sleeps, Word::Wait].into_iter().any(|word| one.model.has(word)));
                    callees.into_iter().any(|callee| self.taint.throws.contains(callee.index()))
                        || used.is_some() && call.arguments.iter().any(|one| self.is(frame, *one))
                        || interruptible && self.interrupts
                }
                _ => false,
            }
        });
        if statements.next().is_some() {
            return true;
        }
        code.values.iter().any(|info| {
            info.block == block
                && match &info.def {
                    Def::Binary { op: Op::Other, right, .. } => self.is(frame, *right),
                    Def::Cast(value, _) | Def::Length(value) => self.is(frame, *value),
                    _ => false,
                }
        })
    }

    fn find_throws(&mut self, frame: FrameId) {
        if self.taint.throws.contains(frame.index()) {
            return;
        }
        let body = self.solver.frames[frame.index()].body.clone();
        let throws = body.code.blocks.iter().enumerate().any(|(block, code)| {
            let throws = matches!(code.statements.last().map(|last| &last.kind), Some(Kind::Throw(_)));
            let decided = self.taint.blocks[frame.index()].contains(block);
            body.graph.reached[block] && (throws && decided || self.throws_in(frame, block as Block))
        });
        if throws {
            self.changed |= self.taint.throws.insert(frame.index());
        }
    }
}
