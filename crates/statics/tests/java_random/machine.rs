//! Runs all interleavings of a program.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::language::{Array, CELLS, Lock, Op, Program, ROWS, STATICS, Step, Style, Test, steps};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Phase {
    NotYet,
    Made,
    Running,
    /// At the barrier, in the round that is not over.
    Waiting,
    Over,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thread {
    phase: Phase,
    at: usize,
    id: i32,
    locals: [i32; 4],
    stack: Vec<i32>,
    /// What it read: where, in which cell, which value.
    read: Vec<(usize, usize, i32)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    memory: Vec<i32>,
    threads: Vec<Thread>,
    /// Who holds a lock, and how often.
    locks: Vec<Option<(usize, u32)>>,
    arrived: i32,
    printed: Vec<i32>,
    queue: Vec<i32>,
    /// Threads as they were started.
    order: Vec<usize>,
}

/// What one execution read of a location: by which thread, where, and what; and what is there in the end.
type Reads = Vec<(usize, usize, i32)>;

/// What all executions that end have in common, or not.
#[derive(Default, Debug)]
pub struct Observed {
    pub ends: usize,
    pub states: usize,
    pub by_location: BTreeMap<String, BTreeSet<Reads>>,
    pub printed: BTreeSet<Vec<i32>>,
    pub races: BTreeSet<String>,
    /// Written while there is more than one thread.
    pub changed: BTreeSet<String>,
}

/// Why a program is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftOut {
    TooLarge,
    Throws,
}

const CELLS_AT: usize = STATICS;
const ROWS_AT: usize = CELLS_AT + CELLS;
const PARTS_AT: usize = ROWS_AT + ROWS * ROWS;

fn location(cell: usize) -> &'static str {
    match cell {
        0 => "a",
        1 => "b",
        cell if cell < ROWS_AT => "cells[]",
        cell if cell < PARTS_AT => "rows[][]",
        _ => "Worker.part",
    }
}

pub struct Machine {
    main: Vec<Step>,
    body: Vec<Step>,
    threads: usize,
    parties: i32,
    one_by_one: bool,
}

impl Machine {
    pub fn new(program: &Program) -> Self {
        Self {
            main: steps(&program.main),
            body: steps(&program.body),
            threads: program.threads,
            parties: program.parties,
            one_by_one: program.style == Style::OneByOne,
        }
    }

    pub fn run(&self, most: usize) -> Result<Observed, LeftOut> {
        let mut observed = Observed::default();
        let mut seen: HashSet<State> = HashSet::new();
        let mut rest = vec![self.first()?];
        while let Some(state) = rest.pop() {
            observed.states += 1;
            if observed.states > most {
                return Err(LeftOut::TooLarge);
            }
            self.races(&state, &mut observed);
            let enabled: Vec<usize> = (0..state.threads.len()).filter(|who| self.is_enabled(&state, *who)).collect();
            if state.threads.iter().all(|thread| matches!(thread.phase, Phase::Over | Phase::Made | Phase::NotYet)) {
                ended(&state, &mut observed);
            }
            let is_there = |thread: &&Thread| !matches!(thread.phase, Phase::NotYet | Phase::Made);
            let started = state.threads.iter().filter(is_there).count();
            for who in enabled {
                if let (Step::Store, 2..) = (&self.code(who)[state.threads[who].at], started) {
                    let stack = &state.threads[who].stack;
                    observed.changed.insert(location(stack[stack.len() - 2] as usize).to_owned());
                }
                let mut next = state.clone();
                self.act(&mut next, who)?;
                if seen.insert(next.clone()) {
                    rest.push(next);
                }
            }
        }
        Ok(observed)
    }

    fn first(&self) -> Result<State, LeftOut> {
        let thread = Thread { phase: Phase::NotYet, at: 0, id: 0, locals: [0; 4], stack: vec![], read: vec![] };
        let mut memory = vec![0; PARTS_AT + self.threads];
        memory[1] = 1;
        let mut state = State {
            memory,
            threads: vec![thread; self.threads + 1],
            locks: vec![None; 3 + self.threads],
            arrived: 0,
            printed: vec![],
            queue: vec![],
            order: vec![],
        };
        state.threads[0].phase = Phase::Running;
        self.go_on(&mut state, 0)?;
        Ok(state)
    }

    fn code(&self, who: usize) -> &[Step] {
        if who == 0 { &self.main } else { &self.body }
    }

    fn lock(&self, who: usize, lock: Lock) -> usize {
        match lock {
            Lock::Static(which) => which,
            Lock::Own => 2 + who,
        }
    }

    /// Tasks of a pool of one thread begin when those before them are over.
    fn is_behind(&self, state: &State, who: usize) -> bool {
        let mut before = state.order.iter().take_while(|other| **other != who);
        self.one_by_one && who > 0 && before.any(|other| state.threads[*other].phase != Phase::Over)
    }

    fn is_enabled(&self, state: &State, who: usize) -> bool {
        let thread = &state.threads[who];
        if thread.phase != Phase::Running {
            return false;
        }
        if self.is_behind(state, who) {
            return false;
        }
        match &self.code(who)[thread.at] {
            Step::Enter(lock) => state.locks[self.lock(who, *lock)].is_none_or(|(by, _)| by == who),
            Step::Join => {
                let other = &state.threads[1 + *thread.stack.last().expect("a number") as usize];
                // There is nothing to wait for where a thread was not started.
                matches!(other.phase, Phase::Over | Phase::Made | Phase::NotYet)
            }
            Step::Take => !state.queue.is_empty(),
            _ => true,
        }
    }

    /// One step that others can notice, and what follows on its own.
    fn act(&self, state: &mut State, who: usize) -> Result<(), LeftOut> {
        let step = &self.code(who)[state.threads[who].at];
        let depth = if matches!(step, Step::Store) { 2 } else { 1 };
        if let (Step::Load { .. } | Step::Store, stack) = (step, &state.threads[who].stack)
            && let Some(other) = (stack[stack.len() - depth] as usize).checked_sub(PARTS_AT)
            && state.threads[1 + other].phase == Phase::NotYet
        {
            return Err(LeftOut::Throws);
        }
        let State { memory, threads, locks, printed, queue, order, .. } = state;
        let thread = &mut threads[who];
        let mut pop = || thread.stack.pop().expect("a number");
        match step {
            Step::Load { watched } => {
                let cell = pop() as usize;
                if *watched {
                    thread.read.push((thread.at, cell, memory[cell]));
                }
                thread.stack.push(memory[cell]);
            }
            Step::Store => {
                let (value, cell) = (pop(), pop());
                memory[cell as usize] = value;
            }
            Step::Enter(lock) => {
                let held = &mut locks[self.lock(who, *lock)];
                *held = Some((who, held.map_or(1, |(_, times)| times + 1)));
            }
            Step::Leave(lock) => leave(&mut locks[self.lock(who, *lock)]),
            Step::Meet => {
                if !self.meet(state, who)? {
                    return Ok(());
                }
            }
            Step::Print => printed.push(pop()),
            Step::Start => {
                let (id, which) = (pop(), pop());
                let other = threads.get_mut(1 + which as usize).ok_or(LeftOut::Throws)?;
                if which < 0 || other.phase != Phase::NotYet {
                    return Err(LeftOut::Throws);
                }
                (other.phase, other.id) = (Phase::Running, id);
                order.push(1 + which as usize);
                self.go_on(state, 1 + which as usize)?;
            }
            Step::Make => {
                let (id, which) = (pop(), pop());
                let other = threads.get_mut(1 + which as usize).ok_or(LeftOut::Throws)?;
                if which < 0 || other.phase != Phase::NotYet {
                    return Err(LeftOut::Throws);
                }
                (other.phase, other.id) = (Phase::Made, id);
            }
            Step::Begin => {
                let which = 1 + pop() as usize;
                if threads[which].phase != Phase::Made {
                    return Err(LeftOut::Throws);
                }
                threads[which].phase = Phase::Running;
                order.push(which);
                self.go_on(state, which)?;
            }
            Step::Offer => queue.push(pop()),
            Step::Take => thread.stack.push(queue.remove(0)),
            Step::Join => {
                let which = pop();
                if threads[1 + which as usize].phase == Phase::NotYet {
                    return Err(LeftOut::Throws);
                }
            }
            Step::End => {
                thread.phase = Phase::Over;
                return Ok(());
            }
            step => unreachable!("{step:?} is nothing others notice"),
        }
        state.threads[who].at += 1;
        self.go_on(state, who)
    }

    /// At the barrier; whether all are there.
    fn meet(&self, state: &mut State, who: usize) -> Result<bool, LeftOut> {
        state.arrived += 1;
        if state.arrived < self.parties {
            state.threads[who].phase = Phase::Waiting;
            return Ok(false);
        }
        state.arrived = 0;
        for other in 0..state.threads.len() {
            if state.threads[other].phase == Phase::Waiting {
                state.threads[other].phase = Phase::Running;
                state.threads[other].at += 1;
                self.go_on(state, other)?;
            }
        }
        Ok(true)
    }

    /// Up to the next step that others can notice.
    fn go_on(&self, state: &mut State, who: usize) -> Result<(), LeftOut> {
        let count = self.threads;
        let thread = &mut state.threads[who];
        for _ in 0..100_000 {
            let mut next = thread.at + 1;
            let mut pop = || thread.stack.pop().expect("a number");
            match &self.code(who)[thread.at] {
                Step::Number(number) => thread.stack.push(*number),
                Step::Get(local) => thread.stack.push(thread.locals[*local]),
                Step::Put(local) => thread.locals[*local] = pop(),
                Step::Id => thread.stack.push(thread.id),
                Step::Own => thread.stack.push(who as i32 - 1),
                Step::Both(op) => {
                    let (right, left) = (pop(), pop());
                    thread.stack.push(apply(*op, left, right));
                }
                Step::Static(which) => thread.stack.push(*which as i32),
                Step::Below(bound) => {
                    let index = thread.stack.last().expect("a number");
                    usize::try_from(*index).ok().filter(|index| index < bound).ok_or(LeftOut::Throws)?;
                }
                Step::Index(array) => {
                    let index = pop();
                    let (start, length) = match array {
                        Array::Cells => (CELLS_AT, CELLS),
                        Array::Rows => (ROWS_AT, ROWS * ROWS),
                        Array::Parts => (PARTS_AT, count),
                    };
                    let index = usize::try_from(index).ok().filter(|index| *index < length).ok_or(LeftOut::Throws)?;
                    thread.stack.push((start + index) as i32);
                }
                Step::Twice => {
                    let cell = *thread.stack.last().expect("a number");
                    thread.stack.push(cell);
                }
                Step::Jump(to) => next = *to,
                Step::Unless(test, to) => {
                    let (right, left) = (pop(), pop());
                    let holds = match test {
                        Test::Less => left < right,
                        Test::Equal => left == right,
                    };
                    if !holds {
                        next = *to;
                    }
                }
                _ => return Ok(()),
            }
            thread.at = next;
        }
        Err(LeftOut::TooLarge)
    }

    fn races(&self, state: &State, observed: &mut Observed) {
        let access = |who: usize| {
            let thread = &state.threads[who];
            let running = thread.phase == Phase::Running && !self.is_behind(state, who);
            let depth = thread.stack.len();
            match &self.code(who)[thread.at] {
                Step::Load { .. } if running => Some((thread.stack[depth - 1], false)),
                Step::Store if running => Some((thread.stack[depth - 2], true)),
                _ => None,
            }
        };
        let all: Vec<(i32, bool)> = (0..state.threads.len()).filter_map(access).collect();
        for (at, (cell, writes)) in all.iter().enumerate() {
            for (other, also) in &all[at + 1..] {
                if cell == other && (*writes || *also) {
                    observed.races.insert(location(*cell as usize).to_owned());
                }
            }
        }
    }
}

fn leave(held: &mut Option<(usize, u32)>) {
    *held = held.and_then(|(by, times)| (times > 1).then(|| (by, times - 1)));
}

fn ended(state: &State, observed: &mut Observed) {
    observed.ends += 1;
    observed.printed.insert(state.printed.clone());
    let mut by_location: BTreeMap<&str, Reads> = BTreeMap::new();
    for (who, thread) in state.threads.iter().enumerate() {
        for (at, cell, value) in &thread.read {
            by_location.entry(location(*cell)).or_default().push((who, *at, *value));
        }
    }
    for (cell, value) in state.memory.iter().enumerate() {
        by_location.entry(location(cell)).or_default().push((usize::MAX, cell, *value));
    }
    for (location, all) in by_location {
        observed.by_location.entry(location.to_owned()).or_default().insert(all);
    }
}

fn apply(op: Op, left: i32, right: i32) -> i32 {
    match op {
        Op::Add => left.wrapping_add(right),
        Op::Sub => left.wrapping_sub(right),
        Op::Mul => left.wrapping_mul(right),
        Op::Min => left.min(right),
        Op::Max => left.max(right),
        Op::Half => left.wrapping_add(right) >> 1,
    }
}
