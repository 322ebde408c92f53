//! What may happen in parallel: nothing that start and join order, everything else.
//!
//! Locks order nothing. Two points are ordered only where every execution orders them the same way, so that what is
//! *not* in parallel has the same order in all executions.
//!
//! Lattice, per point of a thread: threads started by it, or by those, that may be *running* (by inclusion); threads
//! that have ended for good whenever it is here, *joined* (by reverse inclusion). A thread is left out of `running`
//! again only by a join that must mean it: its only instance, or the latest one while no other runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reweave_script::language::{Operand, Register, Statement, StatementKind};

use crate::bits::Bits;
use crate::faults::{Fault, is_seeded};
use crate::flow::{Flow, Solution, solve, visit};
use crate::frames::{FrameId, Point, Skeleton, ThreadId};
use crate::points_to::{PointsTo, Target};

#[derive(Clone, Debug, Default)]
struct Alive {
    running: Bits,
    /// Of these more than one instance may be running.
    several: Bits,
    joined: Bits,
    /// Registers with the handle of the thread's latest instance.
    latest: BTreeMap<Register, ThreadId>,
}

/// Answers which points may happen in parallel.
pub struct Parallel {
    thread_of: Vec<ThreadId>,
    /// Threads that may be alive when a thread is at a point; for points that are reached.
    live: HashMap<Point, u32>,
    sets: Vec<Bits>,
    /// When main ends.
    pub at_end: Bits,
    /// Instances of it may run at the same time.
    pub with_itself: Bits,
    /// Threads that a must-join ends, by join.
    pub joins: HashMap<Point, ThreadId>,
}

impl Parallel {
    pub fn new(skeleton: &Skeleton<'_>, points_to: &PointsTo) -> Self {
        let mut flow = Joins::new(skeleton, points_to);
        let mut solution = Solution::new(skeleton);
        let mut changed = true;
        while changed {
            changed = false;
            for thread in skeleton.thread_ids() {
                changed |= solve(&mut flow, skeleton, thread, Alive::default(), &mut solution, true);
                let entry = skeleton.threads[thread.index()].entry;
                flow.exits[thread.index()] = solution.exit(entry).cloned();
            }
        }
        let mut seen: Vec<(Point, Bits, Bits)> = Vec::new();
        flow.meant.clear();
        visit(&mut flow, skeleton, &solution, |_, point, _, state| {
            seen.push((point, state.running.clone(), state.joined.clone()));
        });
        let mut outside = Outside::new(skeleton, &flow);
        outside.solve(&seen);
        let mut parallel = Self {
            thread_of: skeleton.frames.iter().map(|frame| frame.thread).collect(),
            live: HashMap::new(),
            sets: Vec::new(),
            at_end: Bits::default(),
            with_itself: outside.with_itself(),
            joins: flow.meant.clone(),
        };
        let mut known: HashMap<Bits, u32> = HashMap::new();
        for (point, running, joined) in seen {
            let live = outside.live(skeleton.thread_of(point), &running, &joined);
            let next = parallel.sets.len() as u32;
            let id = *known.entry(live.clone()).or_insert(next);
            if id == next {
                parallel.sets.push(live);
            }
            parallel.live.insert(point, id);
        }
        if let Some(end) = &flow.exits[ThreadId::MAIN.index()] {
            parallel.at_end = outside.live(ThreadId::MAIN, &end.running, &end.joined);
        }
        parallel
    }

    pub fn thread_of(&self, point: Point) -> ThreadId {
        self.thread_of[point.frame.index()]
    }

    /// Threads that may be alive when this is executed.
    pub fn live(&self, point: Point) -> Option<&Bits> {
        self.live.get(&point).map(|id| &self.sets[*id as usize])
    }

    /// Whether two statements may be executed in either order, by different threads of a run.
    pub fn may(&self, one: Point, other: Point) -> bool {
        let (a, b) = (self.thread_of(one), self.thread_of(other));
        if a == b && !self.with_itself.contains(a.index()) {
            return false;
        }
        let sees = |point, thread: ThreadId| self.live(point).is_some_and(|live| live.contains(thread.index()));
        sees(one, b) && sees(other, a)
    }

    /// Whether it may be executed while main ends, or after that.
    pub fn may_outlive_main(&self, point: Point) -> bool {
        self.at_end.contains(self.thread_of(point).index())
    }
}

/// The flow of one thread.
struct Joins<'a, 'p> {
    skeleton: &'a Skeleton<'p>,
    points_to: &'a PointsTo,
    exits: Vec<Option<Alive>>,
    /// All that a thread starts, maybe through others.
    below: Vec<Bits>,
    /// Threads that may be started while a frame is there.
    starts: Vec<Bits>,
    meant: HashMap<Point, ThreadId>,
}

impl<'a, 'p> Joins<'a, 'p> {
    fn new(skeleton: &'a Skeleton<'p>, points_to: &'a PointsTo) -> Self {
        let count = skeleton.threads.len();
        let mut below = vec![Bits::default(); count];
        let mut starts = vec![Bits::default(); skeleton.frames.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (point, child) in &skeleton.started {
                let parent = skeleton.thread_of(*point).index();
                let more = below[child.index()].clone();
                changed |= below[parent].insert(child.index()) | below[parent].add_all(&more);
                changed |= starts[point.frame.index()].insert(child.index());
            }
            for (point, callee) in &skeleton.callees {
                let more = starts[callee.index()].clone();
                changed |= starts[point.frame.index()].add_all(&more);
            }
        }
        Self { skeleton, points_to, exits: vec![None; count], below, starts, meant: HashMap::new() }
    }

    /// The thread that a join waits for, if none of its kind runs after it.
    fn meant(&self, at: Point, handle: Register, state: &Alive) -> Option<ThreadId> {
        let targets = self.points_to.register(at.frame, handle);
        let mut targets = targets.iter();
        let (Some(Target::Thread(thread)), None) = (targets.next(), targets.next()) else { return None };
        let info = &self.skeleton.threads[thread.index()];
        let is_latest = is_seeded(Fault::JoinEndsAll)
            || (state.latest.get(&handle) == Some(thread) && !state.several.contains(thread.index()));
        (!info.is_folded && (!info.is_many || is_latest)).then_some(*thread)
    }
}

impl Flow for Joins<'_, '_> {
    type State = Alive;

    fn join(&mut self, _: FrameId, into: &mut Alive, from: &Alive, _: bool) -> bool {
        let mut changed = into.running.add_all(&from.running);
        changed |= into.several.add_all(&from.several);
        changed |= into.joined.keep_all(&from.joined);
        let before = into.latest.len();
        into.latest.retain(|register, thread| from.latest.get(register) == Some(thread));
        changed | (into.latest.len() != before)
    }

    fn step(&mut self, at: Point, statement: &Statement, state: &mut Alive) -> bool {
        let moved = match statement.kind {
            StatementKind::Move { from: Operand::Register(from), .. } => state.latest.get(&from).copied(),
            _ => None,
        };
        match statement.kind {
            StatementKind::Start { .. } => {
                let child = self.skeleton.started[&at];
                if !state.running.insert(child.index()) {
                    state.several.insert(child.index());
                }
                state.running.add_all(&self.below[child.index()]);
                state.latest.retain(|_, thread| *thread != child);
            }
            StatementKind::Join { thread } => {
                if let Some(child) = self.meant(at, thread, state) {
                    let Some(exit) = &self.exits[child.index()] else { return false };
                    let mut gone = self.below[child.index()].clone();
                    gone.remove_all(&exit.running);
                    gone.insert(child.index());
                    gone.add_all(&exit.joined);
                    state.running.remove_all(&gone);
                    state.several.remove_all(&gone);
                    state.joined.add_all(&exit.joined);
                    if !self.skeleton.threads[child.index()].is_many {
                        state.joined.insert(child.index());
                    }
                    self.meant.insert(at, child);
                } else {
                    self.meant.remove(&at);
                }
            }
            _ => {}
        }
        if let Some(to) = statement.kind.target() {
            state.latest.remove(&to);
            if let Some(thread) = moved.or_else(|| self.skeleton.started.get(&at).copied()) {
                state.latest.insert(to, thread);
            }
        }
        true
    }

    fn enter(&mut self, _: Point, _: &Statement, state: &Alive, _: FrameId) -> Alive {
        Alive { latest: BTreeMap::new(), ..state.clone() }
    }

    fn leave(&mut self, at: Point, statement: &Statement, before: Alive, exit: &Alive) -> Alive {
        let started = &self.starts[self.skeleton.callees[&at].index()];
        let mut latest = before.latest;
        latest
            .retain(|register, thread| !started.contains(thread.index()) && Some(*register) != statement.kind.target());
        Alive { latest, ..exit.clone() }
    }
}

/// Who may be alive beside a thread without having been started by it.
struct Outside<'a, 'p> {
    skeleton: &'a Skeleton<'p>,
    below: &'a [Bits],
    /// By thread; contains the thread itself if its instances may run at the same time.
    beside: Vec<Bits>,
}

impl<'a, 'p> Outside<'a, 'p> {
    fn new(skeleton: &'a Skeleton<'p>, flow: &'a Joins<'a, 'p>) -> Self {
        Self { skeleton, below: &flow.below, beside: vec![Bits::default(); skeleton.threads.len()] }
    }

    fn live(&self, thread: ThreadId, running: &Bits, joined: &Bits) -> Bits {
        let mut live = self.beside[thread.index()].clone();
        live.remove_all(joined);
        live.add_all(running);
        live
    }

    fn with_itself(&self) -> Bits {
        (0..self.beside.len()).filter(|at| self.beside[*at].contains(*at)).collect()
    }

    fn solve(&mut self, seen: &[(Point, Bits, Bits)]) {
        let states: BTreeSet<(ThreadId, &Bits, &Bits)> =
            seen.iter().map(|(point, running, joined)| (self.skeleton.thread_of(*point), running, joined)).collect();
        let mut changed = !is_seeded(Fault::SiblingsOrdered);
        while changed {
            changed = false;
            for (thread, running, joined) in &states {
                let live = self.live(*thread, running, joined);
                for other in live.iter() {
                    changed |= self.add(ThreadId(other as u32), *thread, live.clone());
                }
            }
            for (point, running, joined) in seen {
                if let Some(child) = self.skeleton.started.get(point) {
                    // What runs already when it is started, an instance of itself maybe.
                    let thread = self.skeleton.thread_of(*point);
                    let mut live = self.live(thread, running, joined);
                    if self.skeleton.threads[child.index()].is_folded
                        || self.beside[thread.index()].contains(thread.index())
                    {
                        live.insert(child.index());
                    }
                    changed |= self.beside[child.index()].add_all(&live);
                }
            }
        }
    }

    /// `thread` is alive while `other` and all of `live` may be. What it starts itself, its own flow knows.
    fn add(&mut self, thread: ThreadId, other: ThreadId, mut live: Bits) -> bool {
        let is_alone = !self.beside[thread.index()].contains(thread.index());
        if thread == other {
            return self.beside[thread.index()].add_all(&live);
        }
        live.insert(other.index());
        if is_alone {
            live.remove(thread.index());
            live.remove_all(&self.below[thread.index()]);
        }
        self.beside[thread.index()].add_all(&live)
    }
}
