//! Learns what threads do from a run: walks its events along the [`Tree`] and adds what is new.

mod memory;
mod sync;

use std::collections::{HashMap, HashSet};

use reweave_model::{AccessFlags, Event, EventId, Misuse, Op, Pc, ThreadId, ThreadName, Value};
use reweave_trace::{Language, Result, Trace};

use super::tree::{Base, Edge, NodeId, Request, StepResult, Thing, ThreadNumber, Tree, Written};
use crate::classes::Class;
use crate::names::{Code, Names};

/// Equal rounds of a loop, with no effect in between, that are counted.
const ROUNDS: usize = super::PATIENT;
/// The longest such round, in answers.
const ROUND: usize = 40;
/// Answers without an effect after which a thread is not followed any more.
const LONG_WAIT: usize = 5000;
/// Bytes of an access beyond which it is not modelled.
const LARGE: u32 = 64 << 10;
/// Bytes of a block that is freed which are.
const FREED: u64 = 4 << 10;
/// What stands for handles of threads in memory.
const HANDLES: u64 = 0x7ead << 48;

impl Tree {
    /// Learns what a run did; `None` if the tree cannot take it.
    pub fn learn(&mut self, trace: &Trace) -> Result<Option<Class>> {
        let mut run = Learning::new(self, trace.language(), handles(trace)?);
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            run.event(&event);
        }
        run.finish();
        let (cursors, hung) = (run.cursors, run.hung);
        if self.doubts.too_many_threads {
            return Ok(None);
        }
        // Whoever stands before something when nobody can go on waits for it; one that is over stands before nothing.
        let waits = |cursor: &Cursor| hung && self.node(cursor.node).ask.is_some();
        Ok(Some(self.class(cursors.values().map(|cursor| (cursor.who, cursor.node, waits(cursor))))))
    }
}

/// The writes by which the program learns what it is to know a thread by, right before it is made, and which child that
/// is.
fn handles(trace: &Trace) -> Result<HashMap<EventId, u32>> {
    let mut last: HashMap<ThreadId, (EventId, Pc)> = HashMap::new();
    let mut handles = HashMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        match event.op {
            Op::Write { size: 8, flags, .. } if flags.has(AccessFlags::LIBRARY) => {
                last.insert(event.thread, (event.id, event.pc));
            }
            Op::Fork { nth, .. } => {
                let write = last.remove(&event.thread).filter(|(_, pc)| *pc == event.pc);
                handles.extend(write.map(|(write, _)| (write, nth)));
            }
            op if op.is_step() => drop(last.remove(&event.thread)),
            _ => {}
        }
    }
    Ok(handles)
}

/// Where a thread of the run that is being learned is.
struct Cursor {
    who: ThreadNumber,
    node: NodeId,
    /// Where it was before.
    from: NodeId,
    lead: u32,
    /// It could not go on, with this.
    blocked: Option<(Request, Code)>,
    /// The library call it is in, and whether it wrote last.
    call: Option<(Code, bool)>,
    /// What it was told since it last did something that others can notice.
    answers: Vec<(Code, StepResult)>,
    /// It did something else than at the same place before.
    lost: bool,
}

/// One run being learned.
struct Learning<'t> {
    tree: &'t mut Tree,
    names: Names,
    cursors: HashMap<ThreadId, Cursor>,
    /// Memory as this run has it: known bytes and what they are.
    memory: HashMap<Thing, (u8, u64)>,
    seen: HashSet<Thing>,
    /// What the program knows threads by, and where it is told.
    handles: HashMap<u64, ThreadNumber>,
    told_handles: HashMap<EventId, u32>,
    exited: bool,
    /// It ended because nobody could go on.
    hung: bool,
}

impl<'t> Learning<'t> {
    fn new(tree: &'t mut Tree, language: &Language, told_handles: HashMap<EventId, u32>) -> Self {
        Self {
            tree,
            names: Names::new(language),
            cursors: HashMap::new(),
            memory: HashMap::new(),
            seen: HashSet::new(),
            handles: HashMap::new(),
            told_handles,
            exited: false,
            hung: false,
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        self.names.see(event);
        if event.thread == ThreadId(0) && !self.cursors.contains_key(&ThreadId(0)) {
            self.begin(ThreadId(0), ThreadName::MAIN);
        }
        let code = self.names.code(event.pc);
        let thread = event.thread;
        match event.op {
            Op::Misused { what: Misuse::DestroyHeld, .. } => {}
            Op::Revoked | Op::Signal { .. } | Op::Leave { .. } | Op::Misused { .. } | Op::Input { .. } => {
                self.tree.doubts.outside = true;
            }
            Op::Hang => self.hung = true,
            // What comes after the exit is not modelled.
            Op::Destroy { .. } => self.tree.doubts.outside |= self.exited,
            op if self.exited && op.is_step() => self.tree.doubts.outside = true,
            Op::Fork { child, nth } => {
                let Some(parent) = self.cursors.get(&thread).map(|cursor| cursor.who) else { return };
                if let Some(who) = self.begin(child, ThreadName { parent: parent.into(), nth }) {
                    self.take(thread, code, Request::Fork { child: who }, StepResult::Done, 1, (Box::default(), false));
                }
                return;
            }
            Op::Write { value, .. } if self.told_handles.contains_key(&event.id) => {
                let nth = self.told_handles[&event.id];
                let parent = self.cursors.get(&thread).map(|cursor| cursor.who);
                let who = parent.and_then(|parent| self.tree.thread_number(ThreadName { parent: parent.into(), nth }));
                let handle = match value {
                    Value::Word(word) => Some(word),
                    Value::Bytes(bytes) => bytes.try_into().ok().map(u64::from_le_bytes),
                    Value::Unknown => None,
                };
                // The same one may have been another thread's.
                self.handles.extend(handle.zip(who));
            }
            _ => {}
        }
        if !self.cursors.contains_key(&thread) {
            // Made behind our back.
            self.tree.doubts.outside |= event.op.is_step();
            return;
        }
        self.step(event, code);
    }

    fn begin(&mut self, thread: ThreadId, name: ThreadName) -> Option<ThreadNumber> {
        let who = self.tree.thread_number(name)?;
        let node = self.tree.roots[usize::from(who)];
        let answers = Vec::new();
        let cursor = Cursor { who, node, from: node, lead: 0, blocked: None, call: None, answers, lost: false };
        self.cursors.insert(thread, cursor);
        Some(who)
    }

    fn step(&mut self, event: &Event<'_>, code: Code) {
        let thread = event.thread;
        match event.op {
            Op::Read { addr, size, value, flags } => {
                self.access(thread, code, addr.0, size, Some(value), None, (flags.has(AccessFlags::LIBRARY), false));
            }
            Op::Write { addr, size, value, flags } => {
                self.access(thread, code, addr.0, size, None, Some(value), (flags.has(AccessFlags::LIBRARY), false));
            }
            Op::Atomic { kind, addr, size, read, written, .. } => {
                let read = kind.reads().then_some(read);
                self.access(thread, code, addr.0, size, read, kind.writes().then_some(written), (false, true));
            }
            Op::Free { addr, size } => {
                self.tree.doubts.foreign |= size > FREED;
                let (block, _) = self.base(thread, addr.0);
                let parts = self.parts(thread, addr.0, size.min(FREED));
                let words: Box<[Thing]> = parts.iter().map(|(part, _)| part.word).collect();
                for &word in &words {
                    self.memory.insert(word, (0, 0));
                    self.seen.insert(word);
                }
                self.take(thread, code, Request::Free { words, block }, StepResult::Done, 1, (Box::default(), false));
            }
            Op::Alloc { .. } => self.local(thread),
            Op::Blocked { on, object } => self.blocked(thread, code, on, object),
            Op::Exit { status } => {
                self.exited = true;
                self.take(thread, code, Request::Exit, StepResult::Value(status as u64), 1, (Box::default(), false));
            }
            Op::Fatal { number, .. } => {
                self.take(
                    thread,
                    code,
                    Request::Exit,
                    StepResult::Value(1 << 32 | u64::from(number)),
                    0,
                    (Box::default(), false),
                );
            }
            op if !op.is_step() => {}
            op => match self.sync(thread, &op) {
                Some((ask, answer)) => {
                    let waited = self.cursors.get_mut(&thread).and_then(|cursor| cursor.blocked.take()).is_some();
                    let steps = if answer == StepResult::Refused && waited { 2 } else { 1 };
                    self.take(thread, code, ask, answer, steps, (Box::default(), false));
                    self.prepare(thread, code, &op);
                }
                None => self.local(thread),
            },
        }
    }

    fn local(&mut self, thread: ThreadId) {
        if let Some(cursor) = self.cursors.get_mut(&thread) {
            cursor.lead += 1;
            cursor.call = None;
        }
    }

    /// The thread does this and is told that. What it writes may leave everything as it was.
    fn take(
        &mut self,
        thread: ThreadId,
        code: Code,
        ask: Request,
        answer: StepResult,
        steps: u32,
        (writes, silent): (Box<[Written]>, bool),
    ) {
        let effect = !silent && self.is_effect(thread, &ask);
        let Some(cursor) = self.cursors.get_mut(&thread).filter(|cursor| !cursor.lost) else { return };
        let tree = &mut *self.tree;
        let node = &mut tree.nodes[cursor.node as usize];
        match &mut node.ask {
            None => {
                (node.code, node.lead) = (code, cursor.lead);
                // The process ends with what came before.
                node.fused = steps == 0 && cursor.lead == 0;
                tree.ask(cursor.node, ask);
            }
            Some(known) => {
                if !alike(known, &ask) {
                    cursor.lost = true;
                    tree.doubts.unsteady = true;
                    return;
                }
            }
        }
        cursor.lead = 0;
        cursor.call = None;
        cursor.from = cursor.node;
        let node = &tree.nodes[cursor.node as usize];
        if let Some(edge) = node.edges.iter().find(|edge| edge.answer == answer) {
            // What it writes is its own doing.
            tree.doubts.unsteady |= edge.writes != writes;
            cursor.node = edge.to;
        } else {
            let mut digest = node.digest;
            let tried =
                matches!(node.ask, Some(Request::Acquire { tried: true, .. } | Request::Take { tried: true, .. }));
            match answer {
                StepResult::Done if tried => digest.add(5, code, 0),
                StepResult::Done => {}
                StepResult::Value(value) => digest.add(1, code, value),
                StepResult::Unknown => digest.add(1, code, u64::MAX),
                StepResult::Refused => digest.add(4, code, 0),
                StepResult::Notified => digest.add(6, code, 0),
                StepResult::TimedOut => digest.add(6, code, 1),
                StepResult::Serial(serial) => digest.add(7, code, serial.into()),
                StepResult::First(first) => digest.add(8, code, first.into()),
            }
            let to = tree.add(digest);
            tree.connect(cursor.node, Edge { answer, steps, writes, to });
            cursor.node = to;
        }
        if effect {
            cursor.answers.clear();
        } else if answer != StepResult::Done {
            cursor.answers.push((code, answer));
            let tiring = &mut tree.nodes[cursor.from as usize].tiring;
            let rounds = rounds(&cursor.answers);
            match tiring.iter_mut().find(|(known, _)| *known == answer) {
                Some((_, most)) => *most = rounds.max(*most),
                None if rounds > 1 => tiring.push((answer, rounds)),
                None => {}
            }
            // What it does after that long, the model need not know.
            cursor.lost |= cursor.answers.len() > LONG_WAIT;
        }
    }

    /// Whether others can notice it. Locks that are taken and given back are no reason to go round a loop again.
    fn is_effect(&self, thread: ThreadId, ask: &Request) -> bool {
        let own = self.cursors.get(&thread).map(|cursor| Base::Stack(cursor.who));
        match ask {
            Request::Access { parts, writes, .. } => {
                *writes && parts.iter().any(|part| Some(self.tree.bases[part.word as usize]) != own)
            }
            Request::Acquire { .. }
            | Request::Release { .. }
            | Request::Take { tried: true, .. }
            | Request::Join { tried: true, .. } => false,
            _ => true,
        }
    }

    /// Threads that stand before something when the run is over.
    fn finish(&mut self) {
        for cursor in self.cursors.values_mut().filter(|cursor| !cursor.lost) {
            if let Some((ask, code)) = cursor.blocked.take() {
                let node = &mut self.tree.nodes[cursor.node as usize];
                if node.ask.is_none() {
                    (node.ask, node.code, node.lead) = (Some(ask), code, cursor.lead);
                }
            }
        }
    }
}

/// The same operation. Whether it can be refused shows only in some runs.
fn alike(known: &mut Request, ask: &Request) -> bool {
    match (known, ask) {
        (
            Request::Acquire { lock, mode, tried },
            Request::Acquire { lock: new_lock, mode: new_mode, tried: new_tried },
        ) => {
            *tried |= new_tried;
            lock == new_lock && mode == new_mode
        }
        (Request::Take { semaphore, tried }, Request::Take { semaphore: new, tried: new_tried }) => {
            *tried |= new_tried;
            semaphore == new
        }
        (Request::Join { child, tried }, Request::Join { child: new, tried: new_tried }) => {
            *tried |= new_tried;
            child == new
        }
        // A compare-exchange writes or not.
        (
            Request::Access { parts, reads, writes, .. },
            Request::Access { parts: new, reads: new_reads, writes: new_writes, .. },
        ) => {
            *writes |= new_writes;
            parts == new && reads == new_reads
        }
        (known, ask) => known == ask,
    }
}

/// Of how many rounds of the same what a thread was told last is the end.
fn rounds(answers: &[(Code, StepResult)]) -> usize {
    let equal = |length: usize| {
        let same = |back: &usize| {
            let end = answers.len() - back * length;
            end >= length && answers[end - length..end] == answers[answers.len() - length..]
        };
        (1..ROUNDS).take_while(same).count() + 1
    };
    (1..=ROUND.min(answers.len())).map(equal).max().unwrap_or(0)
}
