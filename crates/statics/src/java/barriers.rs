//! Phases between barriers: what threads do between two passings of one barrier is ordered with what they do before the
//! first and after the second.
//!
//! A barrier counts if it is one object of a run that waits for exactly as many threads as there are (or if a user says
//! so, `--barrier`), never with a limit, and if its participants pass the same calls in the same order: what decides
//! about them is the same for all ([`super::uniform`]). Then two points can meet only if the call that was passed last
//! and the one that is passed next are the same for both. Lattice: sets of calls (passed last, passed next), by
//! inclusion; the beginning and the end of a thread count as calls.
//!
//! Executions that end are compared: a participant that leaves early makes the others wait for ever.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::classes::MethodId;
use super::code::{BinaryOp, Block, Constant, Def, Kind};
use super::models::Word;
use super::signals::as_many;
use super::slices::Slices;
use super::solve::{FrameId, ObjectId, Point, Solver, ThreadId};
use super::threads::{Threads, interrupts};
use super::uniform::Uniform;
use crate::bits::Bits;

#[derive(Default)]
pub struct Barriers {
    groups: Vec<Group>,
}

/// Threads that meet at a barrier.
struct Group {
    threads: BTreeSet<ThreadId>,
    /// Barrier calls that may be the last before a point, and the next after it.
    phases: HashMap<Point, (Bits, Bits)>,
}

/// The beginning or the end of a thread.
const OUTER: usize = 0;

impl Barriers {
    pub fn new(solver: &Solver<'_>, slices: &Slices<'_, '_>) -> Self {
        let mut barriers: BTreeMap<Barrier, BTreeSet<Point>> = BTreeMap::new();
        for (at, used) in &solver.used {
            if used.iter().any(|one| one.model.has(Word::Meets)) {
                for one in used.iter().filter_map(|one| one.receiver) {
                    barriers.entry(Barrier::Object(one)).or_default().insert(*at);
                }
            }
        }
        for (at, callees) in solver.callees.iter().filter(|_| !solver.barriers.is_empty()) {
            for callee in callees {
                let method = solver.frames[callee.index()].method;
                if solver.barriers.contains(&method) {
                    barriers.entry(Barrier::Declared(method)).or_default().insert(*at);
                }
            }
        }
        let search = Search { solver, threads: slices.threads, slices, interrupts: interrupts(solver) };
        let groups = barriers.into_iter().filter_map(|(barrier, calls)| search.group(barrier, &calls));
        Self { groups: groups.collect() }
    }

    /// Whether a barrier lies between two points, whoever is at which.
    pub fn order(&self, solver: &Solver<'_>, one: Point, other: Point) -> bool {
        let thread = |at: Point| solver.frames[at.frame.index()].thread;
        let meet = |a: &Bits, b: &Bits| a.iter().any(|at| b.contains(at));
        self.groups.iter().any(|group| {
            let takes_part = group.threads.contains(&thread(one)) && group.threads.contains(&thread(other));
            let (Some(a), Some(b)) = (group.phases.get(&one), group.phases.get(&other)) else { return false };
            takes_part && !(meet(&a.0, &b.0) && meet(&a.1, &b.1))
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Barrier {
    Object(ObjectId),
    /// A method of the program that a user calls one.
    Declared(MethodId),
}

struct Search<'s, 'a> {
    solver: &'s Solver<'a>,
    threads: &'s Threads,
    slices: &'s Slices<'s, 'a>,
    interrupts: bool,
}

impl Search<'_, '_> {
    fn group(&self, barrier: Barrier, waits: &BTreeSet<Point>) -> Option<Group> {
        let thread = |at: &Point| self.solver.frames[at.frame.index()].thread;
        let threads: BTreeSet<ThreadId> = waits.iter().map(thread).collect();
        if let Barrier::Object(object) = barrier {
            self.waits_for_all(object, waits, &threads).then_some(())?;
        }
        let mut roots: Vec<FrameId> = Vec::new();
        let many: Vec<ThreadId> = threads.iter().copied().filter(|one| self.threads.many[one.index()]).collect();
        // The code that participants run: what their threads begin with.
        let leader = many.first().or(threads.first())?;
        let &[entry] = &self.solver.threads[leader.index()].entries[..] else { return None };
        let method = self.solver.frames[entry.index()].method;
        for one in &threads {
            roots.push(self.root(*one, method)?);
        }
        many.iter().all(|one| self.starts_once(*one)).then_some(())?;
        let calls = &self.lifted(waits, &roots);
        let mut numbers: BTreeMap<(MethodId, u32), usize> = BTreeMap::new();
        for at in calls {
            let key = self.key(*at);
            let next = numbers.len() + 1;
            numbers.entry(key).or_insert(next);
        }
        for root in &roots {
            let own: BTreeSet<_> =
                calls.iter().filter(|at| thread(at) == self.thread(*root)).map(|at| self.key(*at)).collect();
            (own.len() == numbers.len()).then_some(())?;
        }
        let frames: Vec<FrameId> = roots.iter().flat_map(|root| self.solver.below(*root)).collect();
        let numbers = calls.iter().map(|at| (*at, numbers[&self.key(*at)])).collect();
        let flows: Vec<Phases<'_, '_>> = threads.iter().map(|one| Phases::new(self.solver, *one, &numbers)).collect();
        // Who gets to such a handler leaves for good: the others wait for ever.
        let going_on: HashSet<Node> = flows.iter().flat_map(Phases::before_a_call).collect();
        let leaves = |frame: FrameId, handler: Block| {
            flows.iter().all(|flow| !flow.first(frame, handler).iter().any(|node| going_on.contains(node)))
        };
        self.are_aligned(&roots, &frames, calls, &leaves).then_some(())?;
        let mut phases = HashMap::new();
        flows.iter().for_each(|flow| flow.solve(&mut phases));
        if let Barrier::Object(_) = barrier {
            self.between(waits, &mut phases);
        }
        Some(Group { threads, phases })
    }

    fn thread(&self, frame: FrameId) -> ThreadId {
        self.solver.frames[frame.index()].thread
    }

    fn key(&self, at: Point) -> (MethodId, u32) {
        (self.solver.frames[at.frame.index()].method, self.solver.statement_at(at).pc)
    }

    /// The frame of a method with which a thread takes part: what it begins with, or what it calls once.
    fn root(&self, thread: ThreadId, method: MethodId) -> Option<FrameId> {
        let is_meant = |at: &usize| {
            let frame = &self.solver.frames[*at];
            frame.thread == thread && frame.method == method
        };
        let all: Vec<usize> = (0..self.solver.frames.len()).filter(is_meant).collect();
        let &[only] = &all[..] else { return None };
        (!self.threads.is_repeated(FrameId(only as u32))).then_some(FrameId(only as u32))
    }

    /// Whether all instances of a thread are started in one loop that runs once: no others come later.
    fn starts_once(&self, thread: ThreadId) -> bool {
        let own = &self.solver.threads[thread.index()];
        let (Some(start), 1) = (own.starts.first(), own.starts.len()) else { return false };
        let frame = &self.solver.frames[start.frame.index()];
        let around = frame.body.graph.loops.iter().filter(|one| one.blocks.contains(&start.block)).count();
        let alone = !self.threads.is_repeated(start.frame) && !self.threads.many[frame.thread.index()];
        alone && around <= 1 && !own.is_folded && !self.solver.often.contains(&thread)
    }

    /// Calls of methods that do nothing but pass the barrier once are as good as the barrier itself, and tell more.
    fn lifted(&self, waits: &BTreeSet<Point>, roots: &[FrameId]) -> BTreeSet<Point> {
        let mut calls = waits.clone();
        for _ in 0..8 {
            // Whatever a call may mean passes the barrier.
            let always = |caller: &Point| {
                let mut callees = self.solver.callees.get(caller).into_iter().flatten();
                callees.all(|callee| calls.iter().any(|at| at.frame == *callee))
                    && !self.solver.used.contains_key(caller)
            };
            let is_wrapper = |at: &Point| {
                let own = &self.solver.frames[at.frame.index()];
                let others = calls.iter().filter(|other| other.frame == at.frame).count();
                let mut ends = own.body.code.blocks.iter().enumerate().filter(|(_, block)| {
                    matches!(block.statements.last().map(|last| &last.kind), Some(Kind::Return(_)))
                });
                !roots.contains(&at.frame)
                    && self.tells_more(at, &calls)
                    && others == 1
                    && !own.callers.is_empty()
                    && own.callers.iter().all(always)
                    && !own.body.graph.in_loop[at.block as usize]
                    && ends.all(|(end, _)| own.body.graph.dominates(at.block, end as Block))
            };
            let lifted: BTreeSet<Point> = calls
                .iter()
                .flat_map(|at| match is_wrapper(at) {
                    true => self.solver.frames[at.frame.index()].callers.iter().copied().collect(),
                    false => vec![*at],
                })
                .collect();
            if lifted == calls {
                break;
            }
            calls = lifted;
        }
        calls
    }

    /// The method does nothing else, or is called at several places: then its callers tell the passings apart, and nothing
    /// is lost within it.
    fn tells_more(&self, at: &Point, calls: &BTreeSet<Point>) -> bool {
        let (method, _) = self.key(*at);
        let frames = (0..self.solver.frames.len()).filter(|one| self.solver.frames[*one].method == method);
        let places: BTreeSet<_> =
            frames.flat_map(|one| &self.solver.frames[one].callers).map(|caller| self.key(*caller)).collect();
        let body = &self.solver.frames[at.frame.index()].body;
        let is_other = |block: usize, index: usize, kind: &Kind| {
            let here = Point { frame: at.frame, block: block as Block, index: index as u32 };
            matches!(kind, Kind::Store(..)) || matches!(kind, Kind::Call(_)) && !calls.contains(&here)
        };
        let quiet = body.code.blocks.iter().enumerate().all(|(block, code)| {
            let mut all = code.statements.iter().enumerate();
            !all.any(|(index, one)| is_other(block, index, &one.kind))
        });
        quiet || places.len() > 1
    }

    /// Whether a barrier waits for exactly those that call it, without limits.
    fn waits_for_all(&self, object: ObjectId, calls: &BTreeSet<Point>, threads: &BTreeSet<ThreadId>) -> bool {
        let solver = self.solver;
        let alone = |at: &Point| {
            let receiver = solver.call_at(*at).and_then(|call| call.arguments.first());
            let is_only = receiver.is_some_and(|receiver| solver.objects_of(at.frame, *receiver) == [object]);
            is_only && solver.waits_for_good(*at)
        };
        let unknown = self.slices.accesses.unknown_objects.contains(object.index());
        if self.interrupts || unknown || !self.threads.is_single(solver, object) || !calls.iter().all(alone) {
            return false;
        }
        let mut made = solver.used.iter().filter_map(|(at, used)| {
            let call = solver.call_at(*at)?;
            let is_new = solver.classes.names.text(call.method.name) == "<init>";
            (is_new && used.iter().any(|one| one.receiver == Some(object))).then_some((*at, *call.arguments.get(1)?))
        });
        let (Some((constructor, count)), None) = (made.next(), made.next()) else { return false };
        let code = solver.code(constructor);
        let (many, one): (Vec<ThreadId>, Vec<ThreadId>) =
            threads.iter().copied().partition(|thread| self.threads.many[thread.index()]);
        match (&many[..], one.len()) {
            ([], count_of) => code.constant(code.plain(count)) == Some(Constant::Whole(count_of as i64)),
            ([only], 0) => as_many(solver, self.threads, *only, (constructor.frame, count)),
            ([only], 1) => match code.def(code.plain(count)) {
                Def::Binary { op: BinaryOp::Add, left, right, .. } => {
                    code.constant(*right) == Some(Constant::Whole(1))
                        && as_many(solver, self.threads, *only, (constructor.frame, *left))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether all participants pass the same calls in the same order.
    fn are_aligned(
        &self,
        roots: &[FrameId],
        frames: &[FrameId],
        calls: &BTreeSet<Point>,
        leaves: &dyn Fn(FrameId, Block) -> bool,
    ) -> bool {
        let idle = |frame: FrameId, handler: Block| {
            !self.interrupts && self.solver.frames[frame.index()].body.code.for_interrupts.contains(&handler)
                || leaves(frame, handler)
        };
        let uniform = Uniform { slices: self.slices, frames, idle: &idle, decides: RefCell::default() };
        let mut seen: BTreeSet<Point> = BTreeSet::new();
        let mut rest: Vec<Point> = calls.iter().copied().collect();
        while let Some(at) = rest.pop() {
            if !seen.insert(at) {
                continue;
            }
            if !frames.contains(&at.frame) || !uniform.is_reached_alike(at.frame, at.block) {
                return false;
            }
            // Which method a call means must be the same for all, too.
            let methods = |at: &Point| {
                let callees = self.solver.callees.get(at).into_iter().flatten();
                callees.map(|callee| self.solver.frames[callee.index()].method).collect::<BTreeSet<_>>().len()
            };
            if !calls.contains(&at) && (methods(&at) > 1 || self.solver.callbacks.contains(&at)) {
                return false;
            }
            if !roots.contains(&at.frame) {
                rest.extend(&self.solver.frames[at.frame.index()].callers);
            }
        }
        true
    }

    /// What a barrier itself runs when all are there lies between phases.
    fn between(&self, calls: &BTreeSet<Point>, phases: &mut HashMap<Point, (Bits, Bits)>) {
        let entered = calls.iter().flat_map(|at| self.solver.callees.get(at).into_iter().flatten());
        for frame in entered.flat_map(|callee| self.solver.below(*callee)).collect::<BTreeSet<_>>() {
            let blocks = self.solver.frames[frame.index()].body.code.blocks.iter().enumerate();
            for (block, code) in blocks {
                for index in 0..code.statements.len() {
                    let at = Point { frame, block: block as Block, index: index as u32 };
                    phases.entry(at).or_default();
                }
            }
        }
    }
}

/// A place in the code of a thread, or the ways out of a frame by an exception.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    At(Point),
    Thrown(FrameId),
    End,
}

/// The flow of one thread.
struct Phases<'s, 'a> {
    solver: &'s Solver<'a>,
    thread: ThreadId,
    numbers: &'s BTreeMap<Point, usize>,
    edges: HashMap<Node, Vec<Node>>,
}

impl<'s, 'a> Phases<'s, 'a> {
    fn new(solver: &'s Solver<'a>, thread: ThreadId, numbers: &'s BTreeMap<Point, usize>) -> Self {
        let mut phases = Self { solver, thread, numbers, edges: HashMap::new() };
        let frames = (0..solver.frames.len()).filter(|at| solver.frames[*at].thread == thread);
        frames.for_each(|at| phases.frame(FrameId(at as u32)));
        phases
    }

    fn frame(&mut self, frame: FrameId) {
        let own = &self.solver.frames[frame.index()];
        let entered = self.solver.threads[self.thread.index()].entries.contains(&frame);
        let interrupted = interrupts(self.solver);
        for (block, code) in own.body.code.blocks.iter().enumerate() {
            let handlers: Vec<Block> =
                code.caught_by().filter(|to| interrupted || !own.body.code.for_interrupts.contains(to)).collect();
            let waits = (0..code.statements.len() as u32)
                .any(|index| self.numbers.contains_key(&Point { frame, block: block as Block, index }));
            for (index, statement) in code.statements.iter().enumerate() {
                let at = Point { frame, block: block as Block, index: index as u32 };
                let mut next: Vec<Node> = Vec::new();
                // A barrier does not fail.
                if !waits {
                    next.extend(handlers.iter().flat_map(|to| self.first(frame, *to)));
                    next.push(Node::Thrown(frame));
                }
                match &statement.kind {
                    Kind::Return(_) => {
                        next.extend(own.callers.iter().flat_map(|caller| self.after(*caller)));
                        next.extend(entered.then_some(Node::End));
                    }
                    _ => next.extend(self.step(at)),
                }
                self.edges.insert(Node::At(at), next);
            }
        }
        let mut thrown: Vec<Node> = Vec::new();
        for caller in &own.callers {
            let handlers = self.solver.code(*caller).blocks[caller.block as usize].caught_by();
            thrown.extend(handlers.flat_map(|to| self.first(caller.frame, to)));
            thrown.push(Node::Thrown(caller.frame));
        }
        thrown.extend(entered.then_some(Node::End));
        self.edges.insert(Node::Thrown(frame), thrown);
    }

    /// What comes next, calls included.
    fn step(&self, at: Point) -> Vec<Node> {
        let callees = self.solver.callees.get(&at).filter(|_| !self.numbers.contains_key(&at));
        let mut next: Vec<Node> = callees.into_iter().flatten().flat_map(|callee| self.first(*callee, 0)).collect();
        if callees.is_none() || self.solver.used.contains_key(&at) {
            next.extend(self.after(at));
        }
        next
    }

    /// What comes next in the same frame.
    fn after(&self, at: Point) -> Vec<Node> {
        let code = &self.solver.frames[at.frame.index()].body.code.blocks[at.block as usize];
        match (at.index as usize + 1) < code.statements.len() {
            true => vec![Node::At(Point { index: at.index + 1, ..at })],
            false => code.next.iter().flat_map(|to| self.first(at.frame, *to)).collect(),
        }
    }

    /// The first statements of a block, or of those behind it if it has none.
    fn first(&self, frame: FrameId, block: Block) -> Vec<Node> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut rest = vec![block];
        while let Some(block) = rest.pop() {
            let code = &self.solver.frames[frame.index()].body.code.blocks[block as usize];
            if !seen.insert(block) {
                continue;
            }
            match code.statements.is_empty() {
                true => rest.extend(&code.next),
                false => found.push(Node::At(Point { frame, block, index: 0 })),
            }
        }
        found
    }

    /// Everything from where a barrier may be reached.
    fn before_a_call(&self) -> HashSet<Node> {
        let mut back: HashMap<Node, Vec<Node>> = HashMap::new();
        for (from, all) in &self.edges {
            all.iter().for_each(|to| back.entry(*to).or_default().push(*from));
        }
        let mut rest: Vec<Node> = self.numbers.keys().map(|at| Node::At(*at)).collect();
        let mut found: HashSet<Node> = rest.iter().copied().collect();
        while let Some(node) = rest.pop() {
            rest.extend(back.get(&node).into_iter().flatten().copied().filter(|from| found.insert(*from)));
        }
        found
    }

    fn solve(&self, phases: &mut HashMap<Point, (Bits, Bits)>) {
        let number = |node: &Node| match node {
            Node::At(at) => self.numbers.get(at).copied(),
            _ => None,
        };
        let entries = self.solver.threads[self.thread.index()].entries.iter();
        let begin: Vec<Node> = entries.flat_map(|entry| self.first(*entry, 0)).collect();
        let before = flow(&self.edges, &begin, &number);
        let mut back: HashMap<Node, Vec<Node>> = HashMap::new();
        for (from, all) in &self.edges {
            all.iter().for_each(|to| back.entry(*to).or_default().push(*from));
        }
        let after = flow(&back, &[Node::End], &number);
        for (node, before) in before {
            if let Node::At(at) = node {
                let after = after.get(&node).cloned().unwrap_or_default();
                let known = phases.entry(at).or_default();
                known.0.add_all(&before);
                known.1.add_all(&after);
            }
        }
    }
}

/// The barrier calls that may be the last on the way to each node.
fn flow(
    edges: &HashMap<Node, Vec<Node>>,
    begin: &[Node],
    number: &dyn Fn(&Node) -> Option<usize>,
) -> HashMap<Node, Bits> {
    let mut states: HashMap<Node, Bits> = HashMap::new();
    let mut rest: Vec<Node> = Vec::new();
    for node in begin {
        states.insert(*node, [OUTER].into_iter().collect());
        rest.push(*node);
    }
    while let Some(node) = rest.pop() {
        let out: Bits = match number(&node) {
            Some(number) => [number].into_iter().collect(),
            None => states[&node].clone(),
        };
        for to in edges.get(&node).into_iter().flatten() {
            let fresh = !states.contains_key(to);
            if states.entry(*to).or_default().add_all(&out) || fresh {
                rest.push(*to);
            }
        }
    }
    states
}
