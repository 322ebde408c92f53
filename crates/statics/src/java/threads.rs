//! Which threads may run at the same time, by start and join.
//!
//! A flow through the frames of every thread says, at each point, which threads that it started (itself or through
//! others) may be running, and which may have begun at all. Lattice: sets of threads, by inclusion. Two points may
//! happen in parallel if neither thread surely waits for the other; locks, latches and barriers order nothing here.
//!
//! A handler gets what holds at any statement of a block it covers that can throw. `join` throws only if somebody calls
//! `interrupt`.

use std::collections::{BTreeSet, HashMap};

use super::code::{Block, Constant, Def, Kind, Place};
use super::exceptions::Exceptions;
use super::models::Word;
use super::running::{Flow, State};
use super::solve::{Birth, FrameId, ObjectId, Origin, Point, Solver, ThreadId, known};

pub struct Threads {
    /// Stands for more than one thread of a run.
    pub many: Vec<bool>,
    /// Two instances may run at the same time.
    pub with_itself: Vec<bool>,
    /// May be executed more than once by one thread.
    pub(super) repeated: Vec<bool>,
    at: HashMap<Point, State>,
    /// Pairs that are neither above nor below each other.
    beside: BTreeSet<(ThreadId, ThreadId)>,
    pub(super) above: Vec<Vec<ThreadId>>,
}

impl Threads {
    pub fn new(solver: &Solver<'_>, exceptions: &Exceptions<'_, '_>) -> Self {
        let repeated = repeated(solver);
        let many = many(solver, &repeated);
        let mut threads = Self {
            with_itself: vec![false; many.len()],
            many,
            repeated,
            at: HashMap::new(),
            beside: BTreeSet::new(),
            above: (0..solver.threads.len()).map(|at| above(solver, ThreadId(at as u32))).collect(),
        };
        let mut flow = Flow::new(solver, &threads, exceptions);
        flow.solve();
        let at = flow.states();
        threads.at = at;
        threads.relate(solver);
        threads
    }

    /// Whether a statement is executed at most once in a run.
    pub fn is_once(&self, solver: &Solver<'_>, frame: FrameId, block: Block) -> bool {
        let own = &solver.frames[frame.index()];
        !self.repeated[frame.index()] && !own.body.graph.in_loop[block as usize] && !self.many[own.thread.index()]
    }

    pub fn is_repeated(&self, frame: FrameId) -> bool {
        self.repeated[frame.index()]
    }

    /// Whether an object stands for one object of a run.
    pub fn is_single(&self, solver: &Solver<'_>, object: ObjectId) -> bool {
        is_single(solver, &self.many, &self.repeated, object)
    }

    pub fn is_above(&self, one: ThreadId, other: ThreadId) -> bool {
        self.above[other.index()].contains(&one)
    }

    /// Whether anybody gets there.
    pub fn is_reached(&self, at: Point) -> bool {
        self.at.contains_key(&at)
    }

    /// Whether two statements may be executed in either order, by different threads of a run.
    pub fn parallel(&self, solver: &Solver<'_>, one: Point, other: Point) -> bool {
        let (a, b) = (solver.frames[one.frame.index()].thread, solver.frames[other.frame.index()].thread);
        let (Some(here), Some(there)) = (self.at.get(&one), self.at.get(&other)) else { return false };
        if a == b {
            return self.with_itself[a.index()];
        }
        if self.is_above(a, b) {
            return self.with_itself[a.index()] || here.running.contains(b.index());
        }
        if self.is_above(b, a) {
            return self.with_itself[b.index()] || there.running.contains(a.index());
        }
        self.beside.contains(&(a.min(b), a.max(b)))
    }

    /// Whether what a point does may have happened before another one.
    pub fn may_precede(&self, solver: &Solver<'_>, first: Point, then: Point) -> bool {
        let (a, b) = (solver.frames[first.frame.index()].thread, solver.frames[then.frame.index()].thread);
        if a == b || !self.is_above(b, a) || self.with_itself[b.index()] {
            return true;
        }
        self.at.get(&then).is_none_or(|state| state.begun.contains(a.index()))
    }

    /// Whether no other thread can have begun when main gets there.
    pub fn is_before_all(&self, solver: &Solver<'_>, at: Point) -> bool {
        let thread = solver.frames[at.frame.index()].thread;
        thread == ThreadId::MAIN && self.at.get(&at).is_some_and(|state| state.begun.is_empty())
    }

    fn relate(&mut self, solver: &Solver<'_>) {
        let count = solver.threads.len();
        let is_free = |at: usize| matches!(solver.threads[at].birth, Birth::Initialiser(_) | Birth::Anywhere);
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..count {
                let thread = &solver.threads[at];
                let meets = thread.is_folded
                    || solver.often.contains(&ThreadId(at as u32))
                    || thread.birth == Birth::Anywhere
                    || thread.creator.is_some_and(|creator| self.with_itself[creator.index()])
                    || self.many[at]
                        && thread
                            .starts
                            .iter()
                            .any(|start| self.at.get(start).is_some_and(|state| state.running.contains(at)));
                if meets && !self.with_itself[at] {
                    self.with_itself[at] = true;
                    changed = true;
                }
            }
        }
        for one in 0..count {
            for other in one + 1..count {
                let (a, b) = (ThreadId(one as u32), ThreadId(other as u32));
                if self.is_above(a, b) || self.is_above(b, a) {
                    continue;
                }
                let meet = is_free(self.root(a).index()) || is_free(self.root(b).index()) || self.meet(solver, a, b);
                if meet {
                    self.beside.insert((a, b));
                }
            }
        }
    }

    fn root(&self, thread: ThreadId) -> ThreadId {
        self.above[thread.index()].last().copied().unwrap_or(thread)
    }

    /// Threads below one that started both.
    fn meet(&self, solver: &Solver<'_>, a: ThreadId, b: ThreadId) -> bool {
        let common = self.above[a.index()].iter().find(|above| self.is_above(**above, b));
        let Some(common) = common.copied() else { return true };
        if self.with_itself[common.index()] {
            return true;
        }
        let child = |thread: ThreadId| {
            let line = &self.above[thread.index()];
            let at = line.iter().position(|above| *above == common).unwrap_or(0);
            if at == 0 { thread } else { line[at - 1] }
        };
        let starts_beside = |started: ThreadId, running: ThreadId| {
            solver.threads[started.index()]
                .starts
                .iter()
                .any(|start| self.at.get(start).is_some_and(|state| state.running.contains(running.index())))
        };
        starts_beside(child(a), b) || starts_beside(child(b), a)
    }
}

/// Those that started a thread, the nearest first.
fn above(solver: &Solver<'_>, thread: ThreadId) -> Vec<ThreadId> {
    let mut line = Vec::new();
    let mut at = solver.threads[thread.index()].creator;
    while let Some(above) = at {
        line.push(above);
        at = solver.threads[above.index()].creator;
    }
    line
}

fn is_single(solver: &Solver<'_>, many: &[bool], repeated: &[bool], object: ObjectId) -> bool {
    let own = &solver.objects[object.index()];
    match own.origin {
        Origin::Constant(_) | Origin::Arguments => true,
        Origin::Opaque => false,
        Origin::Site(_, _, part) => {
            let inner = (1..100).contains(&part);
            let once = |(frame, block): &(FrameId, Block)| {
                let frame_of = &solver.frames[frame.index()];
                !repeated[frame.index()]
                    && !frame_of.body.graph.in_loop[*block as usize]
                    && !many[frame_of.thread.index()]
            };
            !inner && own.made.len() == 1 && own.made.iter().all(once)
        }
    }
}

/// Frames that one thread may enter more than once.
fn repeated(solver: &Solver<'_>) -> Vec<bool> {
    let count = solver.frames.len();
    let mut repeated = vec![false; count];
    let mut entries = vec![0usize; count];
    for thread in &solver.threads {
        thread.entries.iter().for_each(|entry| entries[entry.index()] += 1);
    }
    for (at, frame) in solver.frames.iter().enumerate() {
        let often = |caller: &Point| {
            let from = &solver.frames[caller.frame.index()];
            from.body.graph.in_loop[caller.block as usize] || solver.callbacks.contains(caller)
        };
        repeated[at] = frame.callers.len() + entries[at] > 1 || frame.callers.iter().any(often);
    }
    // What they call, and cycles of calls.
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, frame) in solver.frames.iter().enumerate() {
        frame.callers.iter().for_each(|caller| next[caller.frame.index()].push(at));
    }
    let mut rest: Vec<usize> = (0..count).filter(|at| repeated[*at]).collect();
    while let Some(at) = rest.pop() {
        for to in &next[at] {
            if !std::mem::replace(&mut repeated[*to], true) {
                rest.push(*to);
            }
        }
    }
    // A cycle that is entered once has a frame with two callers, or is never entered.
    repeated
}

fn many(solver: &Solver<'_>, repeated: &[bool]) -> Vec<bool> {
    let mut many = vec![false; solver.threads.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (at, thread) in solver.threads.iter().enumerate() {
            let by_creator = thread.creator.is_some_and(|creator| many[creator.index()]);
            let is_many = thread.is_folded
                || solver.often.contains(&ThreadId(at as u32))
                || by_creator
                || match thread.birth {
                    Birth::Main | Birth::Initialiser(_) => false,
                    Birth::Anywhere => true,
                    Birth::Started(object) => !is_single(solver, &many, repeated, object),
                    Birth::Task(..) => {
                        let once = |start: &Point| {
                            let frame = &solver.frames[start.frame.index()];
                            !repeated[start.frame.index()] && !frame.body.graph.in_loop[start.block as usize]
                        };
                        thread.starts.len() > 1 || !thread.starts.iter().all(once)
                    }
                };
            if is_many && !many[at] {
                many[at] = true;
                changed = true;
            }
        }
    }
    many
}

/// The threads that joining an object (a thread, or what a submission returned) waits for.
pub fn threads_of(solver: &Solver<'_>, object: ObjectId) -> Vec<ThreadId> {
    let made = |start: &Point| {
        let own = &solver.objects[object.index()];
        let Origin::Site(method, pc, _) = own.origin else { return false };
        solver.frames[start.frame.index()].method == method
            && solver.statement_at(*start).pc == pc
            && own.made.contains(&(start.frame, start.block))
    };
    let is_meant = |at: &usize| {
        let thread = &solver.threads[*at];
        match thread.birth {
            Birth::Started(own) => own == object,
            Birth::Task(..) => thread.starts.iter().all(made),
            _ => false,
        }
    };
    (0..solver.threads.len()).filter(is_meant).map(|at| ThreadId(at as u32)).collect()
}

/// The futures that an object stands for which is over when all of them are; none if they are not known for sure.
pub fn gathered(solver: &Solver<'_>, object: ObjectId) -> Option<Vec<ObjectId>> {
    let own = &solver.objects[object.index()];
    let Origin::Site(_, pc, _) = own.origin else { return None };
    let [(frame, block)] = own.made.iter().copied().collect::<Vec<_>>()[..] else { return None };
    let code = &solver.frames[frame.index()].body.code;
    let statements = code.blocks[block as usize].statements.iter().enumerate();
    let mut calls = statements.filter(|(_, one)| one.pc == pc).filter_map(|(index, one)| match &one.kind {
        Kind::Call(call) => Some((Point { frame, block, index: index as u32 }, call)),
        _ => None,
    });
    let (at, call) = calls.next()?;
    solver.used.get(&at)?.iter().all(|one| one.model.has(Word::Gathers)).then_some(())?;
    // The array of the arguments is filled right before, by statements of the same block.
    let array = code.plain(*call.arguments.first()?);
    matches!(code.def(array), Def::Array(..)).then_some(())?;
    let (mut all, mut places) = (Vec::new(), BTreeSet::new());
    for statement in &code.blocks[block as usize].statements[..at.index as usize] {
        if let Kind::Store(Place::Element(base, place), value) = &statement.kind
            && code.plain(*base) == array
        {
            // What is put over another one is waited for, the other is not.
            let Some(Constant::Whole(place)) = code.constant(*place) else { return None };
            places.insert(place).then_some(())?;
            let [one] = solver.objects_of(frame, *value)[..] else { return None };
            all.push(one);
        }
    }
    (code.values[array.index()].block == block).then_some(all)
}

/// Threads that somebody may interrupt.
#[derive(Default)]
pub struct Interrupts {
    all: bool,
    threads: BTreeSet<ThreadId>,
}

impl Interrupts {
    pub fn new(solver: &Solver<'_>) -> Self {
        let mut interrupts = Self { all: solver.blind, ..Self::default() };
        for object in &solver.escapes {
            interrupts.threads.extend(threads_of(solver, *object));
        }
        // What handlers of interrupts do happens only where somebody was interrupted.
        let mut answers: Vec<(ThreadId, Self)> = Vec::new();
        for (at, used) in &solver.used {
            let frame = &solver.frames[at.frame.index()];
            let mut own = Self::default();
            known(used).for_each(|one| own.add(solver, *at, one));
            let handles = |handler: &Block| frame.body.graph.dominates(*handler, at.block);
            match frame.body.code.for_interrupts.iter().any(handles) {
                true => answers.push((frame.thread, own)),
                false => interrupts.join(&own),
            }
        }
        for _ in 0..answers.len() {
            for (thread, own) in &answers {
                if interrupts.may(*thread) {
                    interrupts.join(own);
                }
            }
        }
        interrupts
    }

    fn add(&mut self, solver: &Solver<'_>, at: Point, used: &super::solve::Used) {
        // A limit at a barrier that runs out ends the wait of the others.
        self.all |= used.model.has(Word::Meets) && !solver.waits_for_good(at);
        if !used.model.has(Word::Interrupt) {
            return;
        }
        let Some(object) = used.receiver else {
            self.all = true;
            return;
        };
        let meant = threads_of(solver, object);
        match solver.objects[object.index()].origin {
            // `Thread.currentThread()`.
            Origin::Constant(_) => self.threads.extend([solver.frames[at.frame.index()].thread]),
            _ if meant.is_empty() => self.all = true,
            _ => self.threads.extend(meant),
        }
    }

    fn join(&mut self, other: &Self) {
        self.all |= other.all;
        self.threads.extend(&other.threads);
    }

    /// Whether anybody is.
    pub fn any(&self) -> bool {
        self.all || !self.threads.is_empty()
    }

    pub fn may(&self, thread: ThreadId) -> bool {
        self.all || self.threads.contains(&thread)
    }
}

/// Whether anybody may be interrupted, or a limit at a barrier run out.
pub fn interrupts(solver: &Solver<'_>) -> bool {
    Interrupts::new(solver).any()
}
