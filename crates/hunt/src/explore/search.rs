//! All that the threads of a [`Tree`] can do together, in the order of how many preemptions it takes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use reweave_model::{Schedule, ThreadId};

use super::futures::Futures;
use super::state::{Slots, State};
use super::tree::{NodeId, Request, StepResult, ThreadNumber, Tree};
use crate::budget;
use crate::classes::Class;
use crate::names::Code;
use reweave_launch::{interrupt, memory};

#[derive(Clone, Copy, Debug)]
pub struct SearchBounds {
    pub states: usize,
    pub targets: usize,
    pub deadline: Instant,
    /// Equal rounds of a loop after which a thread gives way to the others.
    pub patience: usize,
}

/// Something that only a run can tell.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Goal {
    /// What a thread does when it is told this; `asks`: what it asks is known by now, which is another goal than to
    /// learn that, although both can be told [`StepResult::Unknown`].
    Learn { node: NodeId, asks: bool, answer: StepResult },
    /// Nobody can move: threads by where they stand.
    Hang { at: Vec<NodeId> },
    /// A thread uses memory that has been freed.
    Freed { node: NodeId },
    /// A thread uses an object that has been destroyed.
    Gone { node: NodeId },
    /// Accesses at these places that conflict are both next.
    Race { one: Code, two: Code },
    /// One of the others, which only a run can come to if threads do what they are guessed to do
    /// ([`merge`](super::merge)). So it may take some attempts.
    Guess { goal: Box<Goal>, attempt: u8 },
}

impl Goal {
    /// The same goal with other numbers of nodes.
    pub fn map(&self, number: impl Fn(NodeId) -> NodeId) -> Self {
        match *self {
            Self::Learn { node, asks, answer } => Self::Learn { node: number(node), asks, answer },
            Self::Hang { ref at } => Self::Hang { at: at.iter().map(|&node| number(node)).collect() },
            Self::Freed { node } => Self::Freed { node: number(node) },
            Self::Gone { node } => Self::Gone { node: number(node) },
            Self::Race { .. } | Self::Guess { .. } => self.clone(),
        }
    }

    pub fn nodes(&self) -> Vec<NodeId> {
        match *self {
            Self::Learn { node, .. } | Self::Freed { node } | Self::Gone { node } => vec![node],
            Self::Hang { ref at } => at.clone(),
            Self::Race { .. } | Self::Guess { .. } => Vec::new(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub goal: Goal,
    pub schedule: Schedule,
}

/// What a search came to.
#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    pub targets: Vec<Target>,
    /// Ways to end that are known.
    pub classes: HashSet<Class>,
    pub states: usize,
    /// Every state was looked at.
    pub complete: bool,
    /// Some thread that spins was held back.
    pub spins: bool,
    /// Values came from where nobody looked.
    pub foreign: bool,
    /// Goals that were met with again although runs had failed to reach them.
    pub unreached: HashSet<Goal>,
}

/// How a state was reached.
struct Record {
    parent: u32,
    moves: Vec<(ThreadNumber, u32)>,
}

pub const ROOT: u32 = u32::MAX;
/// Steps of a thread that nobody knows anything about. Far fewer than it takes to call a run endless: a thread that
/// spins while nobody else is let run shows nothing.
const FAR: u32 = 1 << 15;

pub struct Search<'t> {
    pub tree: &'t Tree,
    /// Goals that runs have tried before.
    tried: &'t HashSet<Goal>,
    limits: SearchBounds,
    futures: Futures,
    pub slots: Slots,
    visited: HashSet<u64>,
    records: Vec<Record>,
    /// States to go on from, by preemptions.
    frontier: Vec<Vec<(State, u32, Option<ThreadNumber>)>>,
    wanted: HashSet<Goal>,
    pub found: SearchResult,
}

/// What a thread is to be told next.
pub type Choice = (ThreadNumber, NodeId, StepResult);

impl<'t> Search<'t> {
    /// `None`: there was no time for it, or no memory.
    pub fn new(tree: &'t Tree, tried: &'t HashSet<Goal>, limits: SearchBounds) -> Option<Self> {
        let futures = Futures::new(tree, || is_over(limits.deadline))?;
        Some(Self::with(tree, futures, tried, limits))
    }

    /// The same through nodes that were merged.
    pub fn of_graph(tree: &'t Tree, tried: &'t HashSet<Goal>, limits: SearchBounds) -> Option<Self> {
        let futures = Futures::of_graph(tree, || is_over(limits.deadline))?;
        Some(Self::with(tree, futures, tried, limits))
    }

    fn with(tree: &'t Tree, futures: Futures, tried: &'t HashSet<Goal>, mut limits: SearchBounds) -> Self {
        let slots = Slots::new(tree, |thing| futures.is_shared(thing));
        limits.states = limits.states.min(budget::SEARCH_BYTES / slots.bytes(tree));
        let foreign = tree.unexplained.iter().any(|&word| slots.keeps(word)) || slots.private_reads_differ(tree);
        Self {
            tree,
            tried,
            limits,
            futures,
            slots,
            visited: HashSet::new(),
            records: Vec::new(),
            frontier: Vec::new(),
            wanted: HashSet::new(),
            found: SearchResult { foreign, ..SearchResult::default() },
        }
    }

    /// In order, until everything is seen or the limits are reached.
    pub fn run(&mut self) {
        let mut moves = Vec::new();
        let mut state = State::new(self.tree, &self.slots);
        self.advance_private(&mut state, None, &mut moves, ROOT);
        self.push(state, ROOT, moves, None, 0);
        for expanded in 1u64.. {
            let Some((state, record, last, cost)) = self.pop() else { break };
            self.expand(&state, record, last, cost);
            if self.found.targets.len() >= self.limits.targets
                || self.found.states >= self.limits.states
                || expanded.is_multiple_of(64) && self.is_over()
            {
                return;
            }
        }
        self.found.complete = true;
    }

    pub fn is_over(&self) -> bool {
        is_over(self.limits.deadline)
    }

    fn push(
        &mut self,
        state: State,
        parent: u32,
        moves: Vec<(ThreadNumber, u32)>,
        last: Option<ThreadNumber>,
        cost: usize,
    ) {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        if !self.visited.insert(hasher.finish()) {
            return;
        }
        self.found.states += 1;
        self.records.push(Record { parent, moves });
        if self.frontier.len() <= cost {
            self.frontier.resize_with(cost + 1, Vec::new);
        }
        self.frontier[cost].push((state, self.records.len() as u32 - 1, last));
    }

    fn pop(&mut self) -> Option<(State, u32, Option<ThreadNumber>, usize)> {
        let cost = self.frontier.iter().position(|states| !states.is_empty())?;
        self.frontier[cost].pop().map(|(state, record, last)| (state, record, last, cost))
    }

    /// A thread's next operation would be the same again, as so often.
    fn is_tired(&self, node: NodeId, answer: StepResult) -> bool {
        let tiring = &self.tree.node(node).tiring;
        tiring.iter().any(|(known, rounds)| *known == answer && *rounds >= self.limits.patience)
    }

    /// What the threads can do now. One that only goes round a loop gives way to the others.
    pub fn choices(&mut self, state: &State) -> Vec<Choice> {
        let mut choices = Vec::new();
        let mut tired = Vec::new();
        for (who, node) in state.threads() {
            for answer in state.answers(self.tree, &self.slots, who) {
                let list = if self.is_tired(node, answer) { &mut tired } else { &mut choices };
                list.push((who, node, answer));
            }
        }
        self.found.spins |= !tired.is_empty();
        if choices.is_empty() { tired } else { choices }
    }

    fn expand(&mut self, state: &State, record: u32, last: Option<ThreadNumber>, cost: usize) {
        if state.exited {
            self.found.classes.insert(self.tree.class(state.threads().map(|(who, node)| (who, node, false))));
            return;
        }
        let choices = self.choices(state);
        self.hang(state, &choices, record, &[]);
        self.races(&choices, record, &[]);
        let could_go_on = choices.iter().any(|(who, ..)| Some(*who) == last);
        for choice in choices {
            let (who, _, answer) = choice;
            self.freed(state, choice, record, &[]);
            let mut next = state.clone();
            let Some(steps) = next.step(self.tree, &self.slots, who, answer) else {
                self.unknown(choice, record, &[]);
                continue;
            };
            let mut moves = vec![(who, steps)];
            self.advance_private(&mut next, Some(who), &mut moves, record);
            let cost = cost + usize::from(could_go_on && Some(who) != last);
            self.push(next, record, moves, Some(who), cost);
        }
    }

    /// Nobody can go on, or only round their loops: do they ever end?
    pub fn hang(&mut self, state: &State, choices: &[Choice], record: u32, moves: &[(ThreadNumber, u32)]) {
        if choices.is_empty() {
            let stands = state.threads().map(|(who, node)| (who, node, !state.is_over(who)));
            self.found.classes.insert(self.tree.class(stands));
            if state.threads().any(|(who, _)| !state.is_over(who)) {
                let standing = state.threads().filter(|(who, _)| !state.is_over(*who));
                self.request_run(Goal::Hang { at: standing.map(|(_, node)| node).collect() }, record, moves);
            }
        } else if choices.iter().all(|(_, node, answer)| self.is_tired(*node, *answer)) {
            self.request_run(Goal::Hang { at: choices.iter().map(|(_, node, _)| *node).collect() }, record, moves);
        }
    }

    /// A thread is about to use memory, or an object, that is gone.
    pub fn freed(&mut self, state: &State, choice: Choice, record: u32, moves: &[(ThreadNumber, u32)]) {
        if state.uses_freed(self.tree, &self.slots, choice.0) {
            self.request_run_after(Goal::Freed { node: choice.1 }, choice, record, moves);
        }
        if state.uses_gone(self.tree, choice.0) {
            self.request_run_after(Goal::Gone { node: choice.1 }, choice, record, moves);
        }
    }

    /// No run has shown what a thread does when it is told this.
    pub fn unknown(&mut self, choice: Choice, record: u32, moves: &[(ThreadNumber, u32)]) {
        let (_, node, answer) = choice;
        let asks = self.tree.node(node).ask.is_some();
        self.request_run_after(Goal::Learn { node, asks, answer }, choice, record, moves);
    }

    fn request_run_after(&mut self, goal: Goal, choice: Choice, record: u32, moves: &[(ThreadNumber, u32)]) {
        let way: Vec<(ThreadNumber, u32)> = moves.iter().copied().chain([self.way(choice)]).collect();
        self.request_run(goal, record, &way);
    }

    /// Pairs of accesses that conflict, not both atomic.
    pub fn races(&mut self, choices: &[Choice], record: u32, moves: &[(ThreadNumber, u32)]) {
        for (at, &one) in choices.iter().enumerate() {
            for &two in &choices[at + 1..] {
                let (first, second) = (self.tree.node(one.1), self.tree.node(two.1));
                let (Some(a), Some(b)) = (&first.ask, &second.ask) else { continue };
                if one.0 != two.0 && conflict(a, b) {
                    let goal = Goal::Race { one: first.code.min(second.code), two: first.code.max(second.code) };
                    // An access that ends the process (an assertion follows it) comes second: the run is to have both.
                    let order = if self.ends_process(one) { [two, one] } else { [one, two] };
                    let way: Vec<(ThreadNumber, u32)> =
                        moves.iter().copied().chain(order.map(|next| self.way(next))).collect();
                    self.request_run(goal, record, &way);
                }
            }
        }
    }

    /// Whether the process ends with this, before any other thread can do something.
    fn ends_process(&self, (_, node, answer): Choice) -> bool {
        let next = self.tree.edge(node, answer).map(|edge| self.tree.node(edge.to));
        next.is_some_and(|next| next.fused && next.ask == Some(Request::Exit))
    }

    /// The steps that lead a thread to what it is told.
    fn way(&self, (who, node, answer): Choice) -> (ThreadNumber, u32) {
        let node = self.tree.node(node);
        if node.ask.is_none() {
            return (who, FAR);
        }
        // One that gives up has begun to wait before; one that only tries takes a step more than it needs.
        (who, node.lead + if answer == StepResult::Refused { 2 } else { 1 })
    }

    /// Does everything that matters to nobody else, and what cannot be held up.
    pub fn advance_private(
        &mut self,
        state: &mut State,
        mut last: Option<ThreadNumber>,
        moves: &mut Vec<(ThreadNumber, u32)>,
        record: u32,
    ) {
        // Through merged nodes a thread might go on for ever.
        while !state.exited && moves.len() <= budget::WALK_STEPS {
            let fused = last.and_then(|who| state.node(who).map(|node| (who, node)));
            let fused = fused.filter(|(who, node)| self.tree.node(*node).fused && !state.is_over(*who));
            let Some((who, node)) = fused.or_else(|| self.alone(state)) else { return };
            let Some(&answer) = state.answers(self.tree, &self.slots, who).first() else { return };
            let choice = (who, node, answer);
            self.freed(state, choice, record, moves);
            let Some(steps) = state.step(self.tree, &self.slots, who, answer) else {
                self.unknown(choice, record, moves);
                return;
            };
            moves.push((who, steps));
            last = Some(who);
        }
    }

    /// A thread whose next operation matters to nobody else.
    fn alone(&self, state: &State) -> Option<(ThreadNumber, NodeId)> {
        state.threads().find(|&(who, node)| match state.answers(self.tree, &self.slots, who)[..] {
            [answer] => {
                !self.is_tired(node, answer)
                    && self.tree.edge(node, answer).is_some()
                    && self.futures.is_alone(self.tree, state, who, node)
            }
            _ => false,
        })
    }

    /// Only a run can tell.
    pub fn request_run(&mut self, goal: Goal, record: u32, more: &[(ThreadNumber, u32)]) {
        if self.tried.contains(&goal) {
            self.found.unreached.insert(goal);
            return;
        }
        if !self.wanted.insert(goal.clone()) {
            return;
        }
        let mut way = vec![more];
        let mut at = record;
        while at != ROOT {
            let record = &self.records[at as usize];
            way.push(&record.moves);
            at = record.parent;
        }
        let mut schedule = Schedule { threads: self.tree.threads.clone(), segments: Vec::new() };
        for &(who, steps) in way.into_iter().rev().flatten().filter(|(_, steps)| *steps > 0) {
            schedule.push(ThreadId(who.into()), steps);
        }
        self.found.targets.push(Target { goal, schedule });
    }
}

/// Whether there is no more time, or memory.
pub fn is_over(deadline: Instant) -> bool {
    Instant::now() >= deadline || interrupt::asked() || memory::is_over()
}

fn conflict(one: &Request, two: &Request) -> bool {
    let (
        Request::Access { parts: a, writes: a_writes, atomic: a_atomic, .. },
        Request::Access { parts: b, writes: b_writes, atomic: b_atomic, .. },
    ) = (one, two)
    else {
        return false;
    };
    let overlap = || a.iter().any(|a| b.iter().any(|b| a.word == b.word && a.mask & b.mask != 0));
    (*a_writes || *b_writes) && !(*a_atomic && *b_atomic) && overlap()
}
