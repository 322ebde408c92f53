//! Learns what threads do from a run: walks its events along the [`Tree`] and adds what is new.

use std::collections::{HashMap, HashSet};

use reweave_model::{
    AccessFlags, BlockedOn, Event, EventId, LockMode, Misuse, ObjectId, Op, Pc, RefusedWhy, ThreadId, ThreadName,
    Value, WakeReason,
};
use reweave_trace::{Language, Result, Trace};

use super::tree::{Answer, Ask, Base, Edge, NodeId, Part, Thing, Tree, Who, Written, bits, value_of, write};
use crate::classes::{Class, Digest};
use crate::names::{Code, Name, Names};

/// Equal rounds of a loop, with no effect in between, after which a thread is taken to spin.
const ROUNDS: usize = 5;
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
        let cursors = run.cursors;
        if self.doubts.too_many_threads {
            return Ok(None);
        }
        Ok(Some(self.class(cursors.values().map(|cursor| (cursor.who, cursor.node)))))
    }
}

/// The writes by which the program learns what it is to know a thread by, right before it is made, and which child that is.
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
    who: Who,
    node: NodeId,
    /// Where it was before.
    from: NodeId,
    lead: u32,
    /// It could not go on, with this.
    blocked: Option<(Ask, Code)>,
    /// The library call it is in, and whether it wrote last.
    call: Option<(Code, bool)>,
    /// What it was told since it last did something that others can notice.
    told: Vec<(Code, Answer)>,
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
    handles: HashMap<u64, Who>,
    told_handles: HashMap<EventId, u32>,
    exited: bool,
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
            // What comes after the exit is not modelled.
            Op::Destroy { .. } => self.tree.doubts.outside |= self.exited,
            op if self.exited && op.is_step() => self.tree.doubts.outside = true,
            Op::Fork { child, nth } => {
                let Some(parent) = self.cursors.get(&thread).map(|cursor| cursor.who) else { return };
                if let Some(who) = self.begin(child, ThreadName { parent: parent.into(), nth }) {
                    self.take(thread, code, Ask::Fork { child: who }, Answer::Done, 1, Box::default());
                }
                return;
            }
            Op::Write { value, .. } if self.told_handles.contains_key(&event.id) => {
                let nth = self.told_handles[&event.id];
                let parent = self.cursors.get(&thread).map(|cursor| cursor.who);
                let who = parent.and_then(|parent| self.tree.who(ThreadName { parent: parent.into(), nth }));
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

    fn begin(&mut self, thread: ThreadId, name: ThreadName) -> Option<Who> {
        let who = self.tree.who(name)?;
        let node = self.tree.roots[usize::from(who)];
        let told = Vec::new();
        let cursor = Cursor { who, node, from: node, lead: 0, blocked: None, call: None, told, lost: false };
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
                self.take(thread, code, Ask::Free { words, block }, Answer::Done, 1, Box::default());
            }
            Op::Alloc { .. } => self.local(thread),
            Op::Blocked { on, object } => self.blocked(thread, code, on, object),
            Op::Exit { status } => {
                self.exited = true;
                self.take(thread, code, Ask::Exit, Answer::Value(status as u64), 1, Box::default());
            }
            Op::Fatal { number, .. } => {
                self.take(thread, code, Ask::Exit, Answer::Value(1 << 32 | u64::from(number)), 0, Box::default());
            }
            op if !op.is_step() => {}
            op => match self.sync(thread, &op) {
                Some((ask, answer)) => {
                    let waited = self.cursors.get_mut(&thread).and_then(|cursor| cursor.blocked.take()).is_some();
                    let steps = if answer == Answer::Refused && waited { 2 } else { 1 };
                    self.take(thread, code, ask, answer, steps, Box::default());
                    self.prepare(thread, code, &op);
                }
                None => self.local(thread),
            },
        }
    }

    fn object(&mut self, thread: ThreadId, object: ObjectId) -> Thing {
        let (base, at) = self.base(thread, object.0);
        self.tree.thing(base, at, true)
    }

    /// A synchronization operation and how it ended.
    fn sync(&mut self, thread: ThreadId, op: &Op<'_>) -> Option<(Ask, Answer)> {
        let done = Answer::Done;
        Some(match *op {
            Op::End => (Ask::End, done),
            Op::Join { child } => (Ask::Join { child: self.cursors.get(&child)?.who, tried: false }, done),
            Op::Acquire { object, mode, tried } => {
                (Ask::Acquire { lock: self.object(thread, object), mode, tried }, done)
            }
            Op::Release { object, mode } => (Ask::Release { lock: self.object(thread, object), mode }, done),
            Op::Refused { why: RefusedWhy::Error, .. } => return None,
            Op::Refused { why: RefusedWhy::Interrupted, .. } => {
                self.tree.doubts.outside = true;
                return None;
            }
            Op::Refused { object, on: BlockedOn::Semaphore, .. } => {
                let semaphore = self.object(thread, object);
                self.tree.counts.entry(semaphore).or_insert(0);
                (Ask::Take { semaphore, tried: true }, Answer::Refused)
            }
            Op::Refused { object, on: BlockedOn::Join, .. } => {
                let child = self.cursors.get(&ThreadId(object.0 as u32))?.who;
                (Ask::Join { child, tried: true }, Answer::Refused)
            }
            Op::Refused { object, on: on @ (BlockedOn::LockExclusive | BlockedOn::LockShared), .. } => {
                let mode = if on == BlockedOn::LockShared { LockMode::Shared } else { LockMode::Exclusive };
                (Ask::Acquire { lock: self.object(thread, object), mode, tried: true }, Answer::Refused)
            }
            Op::Wait { condition, mutex, .. } if mutex.0 != 0 => {
                (Ask::Wait { condition: self.object(thread, condition), lock: self.object(thread, mutex) }, done)
            }
            Op::Woken { condition, mutex, reason, .. } if mutex.0 != 0 => {
                let answer = match reason {
                    WakeReason::Notified => Answer::Notified,
                    WakeReason::TimedOut => Answer::TimedOut,
                    WakeReason::Spurious | WakeReason::Cancelled => {
                        self.tree.doubts.outside = true;
                        Answer::Refused
                    }
                };
                let (condition, lock) = (self.object(thread, condition), self.object(thread, mutex));
                let cursor = self.cursors.get(&thread)?;
                let timed = matches!(self.tree.node(cursor.node).ask, Some(Ask::Wake { timed: true, .. }));
                (Ask::Wake { condition, lock, timed }, answer)
            }
            Op::Notify { condition, all, .. } => (Ask::Notify { condition: self.object(thread, condition), all }, done),
            Op::BarrierArrive { barrier, count } => {
                (Ask::Arrive { barrier: self.object(thread, barrier), count: count.max(1) }, done)
            }
            Op::BarrierLeave { barrier, serial } => {
                (Ask::Leave { barrier: self.object(thread, barrier) }, Answer::Serial(serial))
            }
            Op::SemaphorePost { semaphore, value } => {
                let semaphore = self.object(thread, semaphore);
                self.tree.counts.entry(semaphore).or_insert(value.saturating_sub(1));
                (Ask::Post { semaphore }, done)
            }
            Op::SemaphoreTake { semaphore, value, tried } => {
                let semaphore = self.object(thread, semaphore);
                self.tree.counts.entry(semaphore).or_insert(value + 1);
                (Ask::Take { semaphore, tried }, done)
            }
            Op::Create { object, value, .. } => {
                let object = self.object(thread, object);
                self.tree.counts.entry(object).or_insert(value);
                (Ask::Create { object, value }, done)
            }
            Op::Destroy { object, .. } => (Ask::Destroy { object: self.object(thread, object) }, done),
            Op::Misused { what: Misuse::DestroyHeld, object } => {
                (Ask::Destroy { object: self.object(thread, object) }, Answer::Refused)
            }
            Op::OnceBegin { object } => (Ask::Once { object: self.object(thread, object) }, Answer::First(true)),
            Op::OnceDone { object } => (Ask::Once { object: self.object(thread, object) }, Answer::First(false)),
            Op::OnceEnd { object } => (Ask::OnceEnd { object: self.object(thread, object) }, done),
            Op::Wait { .. } | Op::Woken { .. } | Op::Send { .. } | Op::Receive { .. } | Op::Refused { .. } => {
                self.tree.doubts.outside = true;
                return None;
            }
            _ => return None,
        })
    }

    /// What a thread stands before once it has begun to wait.
    fn prepare(&mut self, thread: ThreadId, code: Code, op: &Op<'_>) {
        let ask = match *op {
            Op::Wait { condition, mutex, timed } => {
                Ask::Wake { condition: self.object(thread, condition), lock: self.object(thread, mutex), timed }
            }
            Op::BarrierArrive { barrier, .. } => Ask::Leave { barrier: self.object(thread, barrier) },
            _ => return,
        };
        let Some(cursor) = self.cursors.get(&thread).filter(|cursor| !cursor.lost) else { return };
        let node = &mut self.tree.nodes[cursor.node as usize];
        node.code = code;
        node.ask.get_or_insert(ask);
    }

    fn blocked(&mut self, thread: ThreadId, code: Code, on: BlockedOn, object: ObjectId) {
        let ask = match on {
            BlockedOn::LockExclusive | BlockedOn::LockShared => {
                let mode = if on == BlockedOn::LockShared { LockMode::Shared } else { LockMode::Exclusive };
                Ask::Acquire { lock: self.object(thread, object), mode, tried: false }
            }
            BlockedOn::Semaphore => Ask::Take { semaphore: self.object(thread, object), tried: false },
            BlockedOn::Join => match self.cursors.get(&ThreadId(object.0 as u32)) {
                Some(child) => Ask::Join { child: child.who, tried: false },
                None => return,
            },
            BlockedOn::Once => Ask::Once { object: self.object(thread, object) },
            BlockedOn::Sleep => return self.local(thread),
            BlockedOn::Notify | BlockedOn::Barrier => return,
            BlockedOn::Futex | BlockedOn::Descriptor | BlockedOn::Signal => {
                self.tree.doubts.outside = true;
                return self.local(thread);
            }
        };
        if let Some(cursor) = self.cursors.get_mut(&thread) {
            cursor.blocked = Some((ask, code));
        }
    }

    fn local(&mut self, thread: ThreadId) {
        if let Some(cursor) = self.cursors.get_mut(&thread) {
            cursor.lead += 1;
            cursor.call = None;
        }
    }

    /// Whether the thread is still in the library call it was in. A call reads and then writes: the same again is another call
    /// at the same place.
    fn in_call(&self, thread: ThreadId, code: Code, writes: bool) -> bool {
        let same = |cursor: &Cursor| cursor.call == Some((code, !writes)) && writes && cursor.lead == 0;
        self.cursors.get(&thread).is_some_and(same)
    }

    /// The thread is in a library call: what it does next there follows at once. `inside`: this one did too.
    fn fuse(&mut self, thread: ThreadId, code: Code, writes: bool, inside: bool) {
        let Some(cursor) = self.cursors.get_mut(&thread) else { return };
        cursor.call = Some((code, writes));
        if inside && !cursor.lost {
            self.tree.nodes[cursor.from as usize].fused = true;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "an access has that many sides")]
    fn access(
        &mut self,
        thread: ThreadId,
        code: Code,
        addr: u64,
        size: u32,
        read: Option<Value<'_>>,
        written: Option<Value<'_>>,
        (library, atomic): (bool, bool),
    ) {
        if size > LARGE || matches!(read, Some(Value::Unknown)) || matches!(written, Some(Value::Unknown)) {
            self.tree.doubts.foreign = true;
        }
        if size > LARGE {
            return self.local(thread);
        }
        let parts = self.parts(thread, addr, size.into());
        let bytes = read.map(|value| self.bytes(thread, value, size));
        let mut answer = if read.is_some() { Answer::Unknown } else { Answer::Done };
        if let Some(Some(bytes)) = &bytes {
            answer = Answer::Value(value_of(bytes));
            for &(part, from) in &parts {
                let found = word(part.mask, &bytes[from..]);
                self.found(part, found);
            }
        }
        let mut writes = Vec::new();
        if let Some(value) = written {
            match self.bytes(thread, value, size) {
                Some(bytes) => {
                    for &(part, from) in &parts {
                        let value = word(part.mask, &bytes[from..]);
                        let memory = self.memory.entry(part.word).or_insert((0, 0));
                        write(memory, part.mask, value);
                        writes.push((part.word, part.mask, value));
                    }
                }
                None => {
                    for (part, _) in &parts {
                        self.memory.insert(part.word, (0, 0));
                        self.seen.insert(part.word);
                        // Known to be unknown.
                        writes.push((part.word, 0, 0));
                    }
                }
            }
        }
        let parts = parts.into_iter().map(|(part, _)| part).collect();
        let ask = Ask::Access { parts, reads: read.is_some(), writes: written.is_some(), atomic };
        let inside = library && self.in_call(thread, code, written.is_some());
        self.take(thread, code, ask, answer, 1, writes.into());
        if library {
            self.fuse(thread, code, written.is_some(), inside);
        }
    }

    /// Some bytes of a word were read.
    fn found(&mut self, part: Part, value: u64) {
        let memory = self.memory.entry(part.word).or_insert((0, 0));
        let known = memory.0 & part.mask;
        let mut explained = (memory.1 ^ value) & bits(known) == 0;
        let new = part.mask & !memory.0;
        if new != 0 && !self.seen.contains(&part.word) {
            // Nobody wrote it before.
            let initial = &mut self.tree.initial[part.word as usize];
            explained &= (initial.1 ^ value) & bits(initial.0 & new) == 0;
            write(initial, new, value);
        }
        write(memory, part.mask, value);
        match self.tree.bases[part.word as usize] {
            _ if explained => {}
            Base::Stack(_) => drop(self.tree.unexplained.insert(part.word)),
            _ => self.tree.doubts.foreign = true,
        }
    }

    /// The bytes of a value. What differs from run to run goes by name: what a pointer points to, whose handle it is.
    fn bytes(&mut self, thread: ThreadId, value: Value<'_>, size: u32) -> Option<Vec<u8>> {
        let bytes = match value {
            Value::Word(word) => word.to_le_bytes()[..(size as usize).min(8)].to_vec(),
            Value::Bytes(bytes) => bytes.to_vec(),
            Value::Unknown => return None,
        };
        let Ok(word) = <[u8; 8]>::try_from(&bytes[..]).map(u64::from_le_bytes) else { return Some(bytes) };
        if let Some(who) = self.handles.get(&word) {
            return Some((HANDLES | self.tree.descent[usize::from(*who)] >> 16).to_le_bytes().to_vec());
        }
        if let Name::Heap { thread, allocation, offset } = self.names.name(thread, word) {
            let mut digest = Digest::NEW;
            digest.word(self.tree.descent[usize::from(self.cursors.get(&thread)?.who)]);
            digest.word(allocation.into());
            return Some(digest.number().wrapping_add(offset).to_le_bytes().to_vec());
        }
        Some(bytes)
    }

    fn base(&mut self, thread: ThreadId, addr: u64) -> (Base, i64) {
        let who = |thread: ThreadId, cursors: &HashMap<ThreadId, Cursor>| cursors.get(&thread).map_or(0, |c| c.who);
        match self.names.name(thread, addr) {
            Name::Global { module, offset } => (Base::Global(module), offset as i64),
            Name::Heap { thread, allocation, offset } => {
                (Base::Heap(who(thread, &self.cursors), allocation), offset as i64)
            }
            Name::Stack { thread, offset } => (Base::Stack(who(thread, &self.cursors)), offset),
            Name::Argument { .. } | Name::Id(_) | Name::Unknown => (Base::Raw, addr as i64),
        }
    }

    /// The words of a range, and where in it each begins.
    fn parts(&mut self, thread: ThreadId, addr: u64, size: u64) -> Vec<(Part, usize)> {
        let (base, start) = self.base(thread, addr);
        let end = start + size as i64;
        let mut parts = Vec::new();
        let mut at = start;
        while at < end {
            let index = at.div_euclid(8);
            let until = end.min((index + 1) * 8);
            let (from, to) = (at.rem_euclid(8), until - index * 8);
            let mask = (((1u16 << to) - 1) & !((1u16 << from) - 1)) as u8;
            parts.push((Part { word: self.tree.thing(base, index, false), mask }, (at - start) as usize));
            at = until;
        }
        parts
    }

    /// The thread does this and is told that.
    fn take(&mut self, thread: ThreadId, code: Code, ask: Ask, answer: Answer, steps: u32, writes: Box<[Written]>) {
        let effect = self.is_effect(thread, &ask);
        let Some(cursor) = self.cursors.get_mut(&thread).filter(|cursor| !cursor.lost) else { return };
        let tree = &mut *self.tree;
        let node = &mut tree.nodes[cursor.node as usize];
        match &mut node.ask {
            None => {
                node.ask = Some(ask);
                (node.code, node.lead) = (code, cursor.lead);
                // The process ends with what came before.
                node.fused = steps == 0 && cursor.lead == 0;
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
        if let Some(edge) = node.edges.iter().find(|edge| edge.answer == answer) {
            // What it writes is its own doing.
            tree.doubts.unsteady |= edge.writes != writes;
            cursor.node = edge.to;
        } else {
            let mut digest = node.digest;
            let tried = matches!(node.ask, Some(Ask::Acquire { tried: true, .. } | Ask::Take { tried: true, .. }));
            match answer {
                Answer::Done if tried => digest.told(5, code, 0),
                Answer::Done => {}
                Answer::Value(value) => digest.told(1, code, value),
                Answer::Unknown => digest.told(1, code, u64::MAX),
                Answer::Refused => digest.told(4, code, 0),
                Answer::Notified => digest.told(6, code, 0),
                Answer::TimedOut => digest.told(6, code, 1),
                Answer::Serial(serial) => digest.told(7, code, serial.into()),
                Answer::First(first) => digest.told(8, code, first.into()),
            }
            let to = tree.add(digest);
            tree.nodes[cursor.node as usize].edges.push(Edge { answer, steps, writes, to });
            cursor.node = to;
        }
        if effect {
            cursor.told.clear();
        } else if answer != Answer::Done {
            cursor.told.push((code, answer));
            let tiring = &mut tree.nodes[cursor.from as usize].tiring;
            if goes_round(&cursor.told) && !tiring.contains(&answer) {
                tiring.push(answer);
            }
            // What it does after that long, the model need not know.
            cursor.lost |= cursor.told.len() > LONG_WAIT;
        }
    }

    /// Whether others can notice it. Locks that are taken and given back are no reason to go round a loop again.
    fn is_effect(&self, thread: ThreadId, ask: &Ask) -> bool {
        let own = self.cursors.get(&thread).map(|cursor| Base::Stack(cursor.who));
        match ask {
            Ask::Access { parts, writes, .. } => {
                *writes && parts.iter().any(|part| Some(self.tree.bases[part.word as usize]) != own)
            }
            Ask::Acquire { .. }
            | Ask::Release { .. }
            | Ask::Take { tried: true, .. }
            | Ask::Join { tried: true, .. } => false,
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
fn alike(known: &mut Ask, ask: &Ask) -> bool {
    match (known, ask) {
        (Ask::Acquire { lock, mode, tried }, Ask::Acquire { lock: new_lock, mode: new_mode, tried: new_tried }) => {
            *tried |= new_tried;
            lock == new_lock && mode == new_mode
        }
        (Ask::Take { semaphore, tried }, Ask::Take { semaphore: new, tried: new_tried }) => {
            *tried |= new_tried;
            semaphore == new
        }
        (Ask::Join { child, tried }, Ask::Join { child: new, tried: new_tried }) => {
            *tried |= new_tried;
            child == new
        }
        // A compare-exchange writes or not.
        (
            Ask::Access { parts, reads, writes, .. },
            Ask::Access { parts: new, reads: new_reads, writes: new_writes, .. },
        ) => {
            *writes |= new_writes;
            parts == new && reads == new_reads
        }
        (known, ask) => known == ask,
    }
}

/// Whether what a thread was told last is some rounds of the same.
fn goes_round(told: &[(Code, Answer)]) -> bool {
    let repeats = |length: usize| {
        let all = length * ROUNDS;
        told.len() >= all && {
            let tail = &told[told.len() - all..];
            tail[length..].iter().zip(tail).all(|(one, other)| one == other)
        }
    };
    (1..=ROUND).any(repeats)
}

/// Bytes as they lie in a word.
fn word(mask: u8, bytes: &[u8]) -> u64 {
    let places = (0..8).filter(|byte| mask & 1 << byte != 0);
    places.zip(bytes).fold(0, |word, (place, &byte)| word | u64::from(byte) << (place * 8))
}
