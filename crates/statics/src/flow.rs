//! Flows facts through the frames of one thread until nothing changes.
//!
//! States stand at the entries of blocks; what holds at a statement is found by going through its block again. A call
//! carries its state into the entry of its callee's frame, and goes on with what the callee returns: callers that
//! share a frame are told apart by nothing.

use std::collections::BTreeSet;

use reweave_script::language::{BlockId, Statement, StatementKind};

use crate::faults::goes_on_for_ever;
use crate::frames::{FrameId, Point, Skeleton, ThreadId};

/// One kind of fact.
pub trait Flow {
    type State: Clone;

    /// Adds what may hold as well; whether that changed anything. `widen`: it has grown often enough and must end soon.
    fn join(&mut self, at: FrameId, into: &mut Self::State, from: &Self::State, widen: bool) -> bool;

    /// Does a statement that is no call. False: nothing gets past it.
    fn step(&mut self, at: Point, statement: &Statement, state: &mut Self::State) -> bool;

    /// What holds where a callee begins.
    fn enter(&mut self, at: Point, statement: &Statement, state: &Self::State, callee: FrameId) -> Self::State;

    /// What holds after the call, from what held before it and where the callee ended.
    fn leave(&mut self, at: Point, statement: &Statement, before: Self::State, exit: &Self::State) -> Self::State;

    /// A function returns. The state stands for the callee's end.
    fn returns(&mut self, at: Point, statement: &Statement, state: Self::State) -> Self::State {
        let _ = (at, statement);
        state
    }

    /// What holds if the end of a block leads to this successor; none: it cannot.
    fn edge(&mut self, at: Point, statement: &Statement, state: &Self::State, to: BlockId) -> Option<Self::State> {
        let _ = (at, statement, to);
        Some(state.clone())
    }
}

/// What holds at the entries of blocks and at the ends of frames; none where nothing gets.
pub struct Solution<S> {
    /// By frame and block.
    pub entries: Vec<Vec<Option<S>>>,
    pub exits: Vec<Option<S>>,
    /// How often entries and exits grew.
    visits: Vec<Vec<u32>>,
    exit_visits: Vec<u32>,
}

impl<S: Clone> Solution<S> {
    pub fn new(skeleton: &Skeleton<'_>) -> Self {
        let blocks = |frame: FrameId| skeleton.program.function(skeleton.frames[frame.index()].function).blocks.len();
        let entries = skeleton.frame_ids().map(|frame| vec![None; blocks(frame)]).collect();
        let visits = skeleton.frame_ids().map(|frame| vec![0; blocks(frame)]).collect();
        let count = skeleton.frames.len();
        Self { entries, exits: vec![None; count], visits, exit_visits: vec![0; count] }
    }

    pub fn entry(&self, frame: FrameId, block: BlockId) -> Option<&S> {
        self.entries[frame.index()][block.index()].as_ref()
    }

    pub fn exit(&self, frame: FrameId) -> Option<&S> {
        self.exits[frame.index()].as_ref()
    }
}

/// So often a state may grow before it is widened: at the heads of loops, and elsewhere (recursion goes through there).
const LOOP_PATIENCE: u32 = 3;
const PATIENCE: u32 = 24;

/// A block of a frame, in the order in which they are looked at.
type Work = (FrameId, u32, BlockId);

/// Solves one thread, from what the solution holds already. Whether anything changed.
pub fn solve<F: Flow>(
    flow: &mut F,
    skeleton: &Skeleton<'_>,
    thread: ThreadId,
    entry: F::State,
    solution: &mut Solution<F::State>,
    everything: bool,
) -> bool {
    let mut solver = Solver { flow, skeleton, solution, rest: BTreeSet::new(), changed: false };
    solver.arrive(skeleton.threads[thread.index()].entry, BlockId(0), &entry);
    if everything {
        for frame in skeleton.frame_ids().filter(|frame| skeleton.frames[frame.index()].thread == thread) {
            let blocks = &solver.solution.entries[frame.index()];
            let known: Vec<usize> = (0..blocks.len()).filter(|at| blocks[*at].is_some()).collect();
            known.into_iter().for_each(|at| solver.push(frame, BlockId(at as u32)));
        }
    }
    let mut steps = 0;
    while let Some((frame, _, block)) = solver.rest.pop_first() {
        solver.block(frame, block);
        steps += 1;
        assert!(!goes_on_for_ever(steps), "a mistake that was made on purpose");
    }
    solver.changed
}

struct Solver<'a, 'p, F: Flow> {
    flow: &'a mut F,
    skeleton: &'a Skeleton<'p>,
    solution: &'a mut Solution<F::State>,
    rest: BTreeSet<Work>,
    changed: bool,
}

impl<F: Flow> Solver<'_, '_, F> {
    fn push(&mut self, frame: FrameId, block: BlockId) {
        let function = self.skeleton.frames[frame.index()].function;
        let rank = self.skeleton.graphs[function.index()].rank[block.index()];
        self.rest.insert((frame, rank, block));
    }

    fn arrive(&mut self, frame: FrameId, block: BlockId, state: &F::State) {
        let changed = match &mut self.solution.entries[frame.index()][block.index()] {
            Some(known) => {
                let function = self.skeleton.frames[frame.index()].function;
                let is_head = self.skeleton.graphs[function.index()].is_loop_head[block.index()];
                let patience = if is_head { LOOP_PATIENCE } else { PATIENCE };
                let visits = &mut self.solution.visits[frame.index()][block.index()];
                let changed = self.flow.join(frame, known, state, *visits >= patience);
                *visits += u32::from(changed);
                changed
            }
            none => {
                *none = Some(state.clone());
                true
            }
        };
        if changed {
            self.changed = true;
            self.push(frame, block);
        }
    }

    fn ends(&mut self, frame: FrameId, state: F::State) {
        let changed = match &mut self.solution.exits[frame.index()] {
            Some(known) => {
                let visits = &mut self.solution.exit_visits[frame.index()];
                let changed = self.flow.join(frame, known, &state, *visits >= PATIENCE);
                *visits += u32::from(changed);
                changed
            }
            none => {
                *none = Some(state);
                true
            }
        };
        if changed {
            self.changed = true;
            for caller in self.skeleton.frames[frame.index()].callers.clone() {
                let block = self.skeleton.block_of(caller.statement);
                if self.solution.entry(caller.frame, block).is_some() {
                    self.push(caller.frame, block);
                }
            }
        }
    }

    fn block(&mut self, frame: FrameId, block: BlockId) {
        let Some(mut state) = self.solution.entry(frame, block).cloned() else { return };
        let function = self.skeleton.program.function(self.skeleton.frames[frame.index()].function);
        for statement in &function.block(block).statements {
            let at = Point { frame, statement: statement.id };
            match statement.kind {
                StatementKind::Call { .. } => {
                    let callee = self.skeleton.callees[&at];
                    let inside = self.flow.enter(at, statement, &state, callee);
                    self.arrive(callee, BlockId(0), &inside);
                    let Some(exit) = self.solution.exits[callee.index()].as_ref() else { return };
                    state = self.flow.leave(at, statement, state, exit);
                }
                StatementKind::Return { .. } => {
                    let end = self.flow.returns(at, statement, state);
                    return self.ends(frame, end);
                }
                StatementKind::Jump { .. } | StatementKind::Branch { .. } | StatementKind::Switch { .. } => {
                    let mut next = statement.kind.successors();
                    next.sort_unstable();
                    next.dedup();
                    for to in next {
                        if let Some(state) = self.flow.edge(at, statement, &state, to) {
                            self.arrive(frame, to, &state);
                        }
                    }
                    return;
                }
                _ => {
                    if !self.flow.step(at, statement, &mut state) {
                        return;
                    }
                }
            }
        }
    }
}

/// Goes once through all blocks that something gets to, and shows the state before each statement.
pub fn visit<F: Flow>(
    flow: &mut F,
    skeleton: &Skeleton<'_>,
    solution: &Solution<F::State>,
    mut each: impl FnMut(&mut F, Point, &Statement, &F::State),
) {
    for frame in skeleton.frame_ids() {
        let function = skeleton.program.function(skeleton.frames[frame.index()].function);
        for (at, block) in function.blocks.iter().enumerate() {
            let Some(mut state) = solution.entry(frame, BlockId(at as u32)).cloned() else { continue };
            for statement in &block.statements {
                let point = Point { frame, statement: statement.id };
                each(flow, point, statement, &state);
                let goes_on = match statement.kind {
                    StatementKind::Call { .. } => match &solution.exits[skeleton.callees[&point].index()] {
                        Some(exit) => {
                            state = flow.leave(point, statement, state, exit);
                            true
                        }
                        None => false,
                    },
                    _ if statement.kind.ends_block() => false,
                    _ => flow.step(point, statement, &mut state),
                };
                if !goes_on {
                    break;
                }
            }
        }
    }
}

/// Goes once through everything and collects what a solution lacks: places where a state arrives that is not within
/// the one known there. None of a correct solution. It is to the solver what a witness checker is to a search.
pub fn check<F: Flow>(
    flow: &mut F,
    skeleton: &Skeleton<'_>,
    solution: &Solution<F::State>,
    is_within: impl Fn(&F, FrameId, &F::State, &F::State) -> bool,
) -> Vec<Point> {
    let mut lacking = Vec::new();
    for frame in skeleton.frame_ids() {
        let function = skeleton.program.function(skeleton.frames[frame.index()].function);
        for (at, block) in function.blocks.iter().enumerate() {
            let Some(mut state) = solution.entry(frame, BlockId(at as u32)).cloned() else { continue };
            for statement in &block.statements {
                let point = Point { frame, statement: statement.id };
                let known = |to: Option<&F::State>, at: FrameId, flow: &F, arriving: &F::State| {
                    to.is_some_and(|known| is_within(flow, at, arriving, known))
                };
                match statement.kind {
                    StatementKind::Call { .. } => {
                        let callee = skeleton.callees[&point];
                        let inside = flow.enter(point, statement, &state, callee);
                        if !known(solution.entry(callee, BlockId(0)), callee, flow, &inside) {
                            lacking.push(point);
                        }
                        let Some(exit) = solution.exit(callee) else { break };
                        state = flow.leave(point, statement, state, exit);
                    }
                    StatementKind::Return { .. } => {
                        let end = flow.returns(point, statement, state);
                        if !known(solution.exit(frame), frame, flow, &end) {
                            lacking.push(point);
                        }
                        break;
                    }
                    StatementKind::Jump { .. } | StatementKind::Branch { .. } | StatementKind::Switch { .. } => {
                        for to in statement.kind.successors() {
                            if let Some(arriving) = flow.edge(point, statement, &state, to)
                                && !known(solution.entry(frame, to), frame, flow, &arriving)
                            {
                                lacking.push(point);
                            }
                        }
                        break;
                    }
                    _ => {
                        if !flow.step(point, statement, &mut state) {
                            break;
                        }
                    }
                }
            }
        }
    }
    lacking
}
