//! Where the atomic blocks of a trace are.
//!
//! **Declared**: between the marks that a front end offers (STD: `begin`, `end`), the outermost ones; and calls of
//! functions that the user names. **Inferred**: outermost critical sections (Atomizer's heuristic), and the part of a
//! function's call from the first to the last section of a lock that it takes more than once, at different places
//! (check-then-act), unless it is a thread's first function, which would make the whole thread atomic; and, if asked
//! for, *updates by hand*: from a thread's read of a location to its next write of it. None of these where a library
//! guards itself. Blocks that [wait](super::waits) are none; in an update, taking a semaphore that was free at first is
//! no such wait: it is used as a lock.
//!
//! A trace has no calls and returns, only the stack at each event. Two calls of a function from the same place with no
//! event in between look like one, so a call is taken to begin anew at each event at the place of its first one; a loop
//! back to there makes blocks smaller, never larger. If a function was seen to begin at several places, that does not
//! tell calls apart: its blocks are *uncertain*, and what is found in them is potential.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use reweave_model::{
    AtomicBlock, AtomicKind, Event, EventId, HeldLocks, LockChange, ObjectId, ObjectKind, Op, Pc, StackId, ThreadId,
};
use reweave_trace::{Result, Trace};

use super::waits;
use crate::linear::{FastMap, FastSet};
use crate::search::SearchLimits;

/// Events between two looks at the clock.
const NOW_AND_THEN: u64 = 1 << 14;

/// Which blocks to look for besides those that the trace itself declares.
#[derive(Clone, Copy, Default, Debug)]
pub struct Wanted<'a> {
    /// Names of functions that are to be atomic.
    pub functions: &'a [String],
    pub inferred: bool,
    /// From a thread's read of a location to its next write of it.
    pub updates: bool,
}

/// A block that ran.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
    pub first: EventId,
    pub last: EventId,
    pub block: AtomicBlock,
    /// Whether it is one block for certain.
    pub certain: bool,
    /// From a read to the write of the same location: only what comes between and touches that breaks it.
    pub update: bool,
    /// An update under one lock.
    guarded: bool,
}

/// All blocks of a trace.
#[derive(Clone, Default, Debug)]
pub struct Blocks {
    // invariant: of one thread ascending, no two overlap
    spans: FastMap<ThreadId, Vec<Span>>,
    /// Functions that no event is in.
    pub unseen: Vec<String>,
}

impl Blocks {
    /// Reads the trace once, or as far as the time goes.
    pub fn of(trace: &Trace, wanted: Wanted<'_>, limits: &SearchLimits<'_>) -> Result<Self> {
        let mut reader = Reader::new(trace, wanted);
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            if event.id.0.is_multiple_of(NOW_AND_THEN) && limits.is_over() {
                break;
            }
            if event.op.is_step() {
                reader.event(&event);
            }
        }
        Ok(reader.finish())
    }

    pub fn is_empty(&self) -> bool {
        self.spans.values().all(Vec::is_empty)
    }

    pub fn len(&self) -> usize {
        self.spans.values().map(Vec::len).sum()
    }

    /// The block that an event of a thread is in.
    pub fn at(&self, thread: ThreadId, event: EventId) -> Option<&Span> {
        let spans = self.spans.get(&thread)?;
        let next = spans.partition_point(|span| span.first <= event);
        spans[..next].last().filter(|span| event <= span.last)
    }
}

/// A block on its way, unless it waits.
#[derive(Clone)]
struct Begun {
    first: EventId,
    enter: Pc,
    label: Option<String>,
    waited: bool,
}

/// A call of a function: who called, by a fingerprint of the stack, and where in the function the thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Call {
    frame: (u64, usize),
    at: Pc,
}

/// A call that goes on.
struct OpenCall {
    call: Call,
    /// Where its first event is: the next event there is that of another call.
    first: (Pc, StackId),
    /// Where in the function it was last.
    last: Pc,
    begun: Begun,
}

/// An acquisition of a lock by a thread: the calls it was made in, innermost first.
struct Taken {
    /// Where the block that takes the lock again and again begins: the first of those acquisitions.
    first: EventId,
    enter: Pc,
    chain: Vec<Pc>,
    /// Where in the function that took it before it is taken again.
    again: Option<Pc>,
}

#[derive(Default)]
struct Row {
    depth: u32,
    declared: Option<Begun>,
    held: Vec<ObjectId>,
    section: Option<Begun>,
    call: Option<OpenCall>,
    taken: FastMap<ObjectId, Taken>,
    /// The last event.
    last: (EventId, Pc),
    /// The last wait.
    waited: EventId,
    /// The last one other than for a semaphore that was free at first.
    needed: EventId,
    /// Locations read and not written since: where, and when.
    read: FastMap<(u64, u32), (EventId, Pc)>,
}

struct Reader<'t> {
    trace: &'t Trace,
    wanted: Wanted<'t>,
    rows: FastMap<ThreadId, Row>,
    spans: FastMap<ThreadId, Vec<Span>>,
    /// Functions asked for, as numbers, at a code position.
    named: FastMap<Pc, Option<usize>>,
    /// The outermost call of such a function in a stack.
    calls: FastMap<StackId, Option<Call>>,
    /// Where calls of each function were seen to begin.
    beginnings: Vec<FastSet<Pc>>,
    /// Semaphores that were free at first.
    free: FastSet<ObjectId>,
    /// Locks, each with where it was acquired; only while updates are looked for.
    locks: HeldLocks<EventId>,
    /// Whether a code position is in a library that guards itself.
    foreign: FastMap<Pc, bool>,
}

impl<'t> Reader<'t> {
    fn new(trace: &'t Trace, wanted: Wanted<'t>) -> Self {
        Self {
            trace,
            wanted,
            rows: FastMap::default(),
            spans: FastMap::default(),
            named: FastMap::default(),
            calls: FastMap::default(),
            beginnings: vec![FastSet::default(); wanted.functions.len()],
            free: FastSet::default(),
            locks: HeldLocks::default(),
            foreign: FastMap::default(),
        }
    }

    /// Whether what begins there is the business of a library.
    fn is_foreign(&mut self, pc: Pc) -> bool {
        *self.foreign.entry(pc).or_insert_with(|| self.trace.guards_itself(pc))
    }

    fn event(&mut self, event: &Event<'_>) {
        if !self.wanted.functions.is_empty() {
            self.function(event);
        }
        let is_foreign = self.is_foreign(event.pc);
        if self.wanted.updates {
            self.waited_for(event);
            if !is_foreign {
                self.update(event);
            }
        }
        let here = outside_of_front_end(self.trace, event);
        let row = self.rows.entry(event.thread).or_default();
        let begun = |label| Begun { first: event.id, enter: here, label, waited: false };
        if waits(&event.op) {
            row.waited = event.id;
            for block in
                row.declared.iter_mut().chain(&mut row.section).chain(row.call.as_mut().map(|call| &mut call.begun))
            {
                block.waited = true;
            }
        }
        let mut ended = None;
        match event.op {
            Op::AtomicEnter { name } => {
                row.depth += 1;
                if row.depth == 1 {
                    row.declared = Some(begun(text_at(self.trace, name)));
                }
            }
            Op::AtomicExit => {
                row.depth = row.depth.saturating_sub(1);
                ended = row.declared.take_if(|_| row.depth == 0).map(|begun| (begun, true));
            }
            _ => {}
        }
        match event.op.lock_change().filter(|_| self.wanted.inferred) {
            Some(LockChange::Acquired { lock: object, .. }) => {
                if row.held.is_empty() {
                    row.section = (!is_foreign).then(|| begun(None));
                }
                row.held.push(object);
                if row.held.len() == 1 && !is_foreign {
                    self.take(event, object);
                }
            }
            Some(LockChange::Released { lock: object, .. }) => {
                row.held.retain(|held| *held != object);
                if row.held.is_empty() {
                    ended = row.section.take().map(|begun| (begun, false));
                    let waited = row.waited;
                    if let Some(&Taken { first, enter, again: Some(again), .. }) = row.taken.get(&object) {
                        let label = function(self.trace, enter).map(str::to_owned);
                        let begun = Begun { first, enter, label, waited: waited > first };
                        self.end(event.thread, begun, false, true, (event.id, again));
                    }
                }
            }
            None => {}
        }
        if let Some((begun, declared)) = ended {
            self.end(event.thread, begun, declared, true, (event.id, here));
        }
        self.rows.entry(event.thread).or_default().last = (event.id, event.pc);
    }

    /// Keeps what an update may have waited for.
    fn waited_for(&mut self, event: &Event<'_>) {
        match event.op {
            Op::Create { object, kind: ObjectKind::Semaphore, value } => {
                if value > 0 {
                    self.free.insert(object);
                } else {
                    self.free.remove(&object);
                }
            }
            Op::SemaphoreTake { semaphore, .. } if self.free.contains(&semaphore) => {}
            ref op if waits(op) => self.rows.entry(event.thread).or_default().needed = event.id,
            _ => {}
        }
        self.locks.follow(event.thread, &event.op, event.id);
    }

    /// A read, or the write that makes an update of it.
    fn update(&mut self, event: &Event<'_>) {
        let (addr, size, reads, writes) = match event.op {
            Op::Read { addr, size, .. } => (addr, size, true, false),
            Op::Write { addr, size, .. } => (addr, size, false, true),
            Op::Atomic { kind: AtomicKind::Load, addr, size, .. } => (addr, size, true, false),
            Op::Atomic { kind: AtomicKind::Store, addr, size, .. } => (addr, size, false, true),
            // What looks again before it writes is no update by hand: it begins anew.
            Op::Atomic { addr, size, .. } => {
                self.rows.entry(event.thread).or_default().read.remove(&(addr.0, size));
                return;
            }
            _ => return,
        };
        let row = self.rows.entry(event.thread).or_default();
        let needed = row.needed;
        let key = (addr.0, size);
        let begun = if writes { row.read.remove(&key) } else { None };
        if reads && !writes {
            // The first one is what the update goes by.
            row.read.entry(key).or_insert((event.id, event.pc));
        }
        if let Some((first, enter)) = begun {
            let begun = Begun { first, enter, label: None, waited: needed > first };
            self.end(event.thread, begun, false, true, (event.id, event.pc));
        }
    }

    fn end(&mut self, thread: ThreadId, begun: Begun, declared: bool, certain: bool, last: (EventId, Pc)) {
        if begun.waited {
            return;
        }
        let block = AtomicBlock { declared, enter: begun.enter, exit: last.1, label: begun.label };
        let locks = self.locks.of(thread);
        let guarded = locks.iter().any(|(_, since)| *since < begun.first);
        self.spans.entry(thread).or_default().push(Span {
            first: begun.first,
            last: last.0,
            block,
            certain,
            update: self.wanted.updates && !declared,
            guarded,
        });
    }

    /// Whether the thread is in a call of a function that is asked for, and whether that is another one than before.
    fn function(&mut self, event: &Event<'_>) {
        let call = self.call(event);
        let row = self.rows.entry(event.thread).or_default();
        let first = (event.pc, event.stack);
        let same = row.call.as_mut().filter(|open| call.is_some_and(|call| call.frame == open.call.frame));
        let is_same = same.is_some();
        if let (Some(open), Some(call)) = (same, call)
            && open.first != first
        {
            open.last = call.at;
            return;
        }
        let last = row.last.0;
        let fresh = call.map(|call| {
            if !is_same {
                self.beginnings[call.frame.1].insert(event.pc);
            }
            let label = Some(self.wanted.functions[call.frame.1].clone());
            let begun = Begun { first: event.id, enter: call.at, label, waited: false };
            OpenCall { call, first, last: call.at, begun }
        });
        if let Some(open) = std::mem::replace(&mut row.call, fresh) {
            self.end(event.thread, open.begun, true, true, (last, open.last));
        }
    }

    /// The outermost call of a function asked for that an event lies in.
    fn call(&mut self, event: &Event<'_>) -> Option<Call> {
        if !self.calls.contains_key(&event.stack) {
            let chain = self.trace.stacks().resolve(event.stack);
            let mut found = None;
            for (depth, &pc) in chain.iter().enumerate() {
                if let Some(function) = self.named(pc) {
                    found = Some(Call { frame: (fingerprint(&chain[depth + 1..]), function), at: pc });
                }
            }
            self.calls.insert(event.stack, found);
        }
        if let Some(outer) = self.calls[&event.stack] {
            return Some(outer);
        }
        let function = self.named(event.pc)?;
        let chain = self.trace.stacks().resolve(event.stack);
        Some(Call { frame: (fingerprint(&chain), function), at: event.pc })
    }

    fn named(&mut self, pc: Pc) -> Option<usize> {
        let (symbols, functions) = (self.trace.symbols(), self.wanted.functions);
        *self.named.entry(pc).or_insert_with(|| {
            symbols.frames(pc).find_map(|frame| {
                // C++ names may come with their parameters.
                let bare = frame.function.split('(').next().unwrap_or_default();
                functions.iter().position(|wanted| wanted == frame.function || wanted == bare)
            })
        })
    }

    /// A thread that held nothing takes a lock: perhaps for the second time in a function.
    fn take(&mut self, event: &Event<'_>, object: ObjectId) {
        let mut chain = vec![event.pc];
        chain.extend(self.trace.stacks().walk(event.stack));
        let (symbols, runtime) = (self.trace.symbols(), &self.trace.language().runtime_modules);
        let is_runtime =
            |pc: &Pc| symbols.module_of(pc.0).is_some_and(|module| runtime.iter().any(|own| own == module.name()));
        chain.retain(|pc| !is_runtime(pc));
        let row = self.rows.entry(event.thread).or_default();
        let before = row.taken.get(&object);
        let again = before.and_then(|before| Some((before, in_one_call(self.trace, &before.chain, &chain)?)));
        let (first, enter, again) = again.map_or((event.id, event.pc, None), |(before, (enter, again))| {
            (before.first, if before.again.is_some() { before.enter } else { enter }, Some(again))
        });
        row.taken.insert(object, Taken { first, enter, chain, again });
    }

    fn finish(mut self) -> Blocks {
        let uncertain: FastSet<&String> = (self.wanted.functions.iter().zip(&self.beginnings))
            .filter(|(_, places)| places.len() > 1)
            .map(|(name, _)| name)
            .collect();
        for row in self.rows.values_mut() {
            // What has not ended may still wait.
            row.call = None;
        }
        for spans in self.spans.values_mut() {
            for span in spans.iter_mut() {
                span.certain &= span.block.label.as_ref().is_none_or(|label| !uncertain.contains(label));
            }
            // Declared ones first, and the outermost first: whatever lies in one of those belongs to it.
            let updates = self.wanted.updates;
            spans.sort_by_key(|span| {
                let length = span.last.0 - span.first.0;
                // Of updates the innermost: what goes on around them is more likely meant. Those that a lock keeps
                // together come last.
                (!span.block.declared, span.guarded, if updates { length } else { u64::MAX - length })
            });
            let mut kept: std::collections::BTreeMap<EventId, Span> = std::collections::BTreeMap::new();
            for span in spans.drain(..) {
                let before = kept.range(..=span.last).next_back();
                if before.is_none_or(|(_, before)| before.last < span.first) {
                    kept.insert(span.first, span);
                }
            }
            spans.extend(kept.into_values());
        }
        let unseen = self.wanted.functions.iter().zip(&self.beginnings).filter(|(_, places)| places.is_empty());
        Blocks { spans: self.spans, unseen: unseen.map(|(name, _)| name.clone()).collect() }
    }
}

/// Where two chains of calls (innermost first) part, if that is at different places of one function's call, in forward
/// direction, and somebody called it.
fn in_one_call(trace: &Trace, one: &[Pc], two: &[Pc]) -> Option<(Pc, Pc)> {
    let common = one.iter().rev().zip(two.iter().rev()).take_while(|(a, b)| a == b).count();
    if common == 0 || common == one.len() || common == two.len() {
        return None;
    }
    let (a, b) = (one[one.len() - common - 1], two[two.len() - common - 1]);
    (a < b && function(trace, a).is_some() && function(trace, a) == function(trace, b)).then_some((a, b))
}

/// The function at a code position, not what the compiler put into it.
fn function(trace: &Trace, pc: Pc) -> Option<&str> {
    trace.symbols().frames(pc).next_back().map(|frame| frame.function)
}

/// Where the program enters or leaves a block: not in a function of the front end that the compiler left as a call.
fn outside_of_front_end(trace: &Trace, event: &Event<'_>) -> Pc {
    let (symbols, language) = (trace.symbols(), trace.language());
    let ours = |pc: Pc| {
        let mut frames = symbols.frames(pc);
        frames.len() > 0 && frames.all(|frame| language.is_own_file(frame.file))
    };
    if !matches!(event.op, Op::AtomicEnter { .. } | Op::AtomicExit) || !ours(event.pc) {
        return event.pc;
    }
    trace.stacks().walk(event.stack).find(|&pc| !ours(pc)).unwrap_or(event.pc)
}

fn fingerprint(chain: &[Pc]) -> u64 {
    let mut hasher = DefaultHasher::new();
    chain.hash(&mut hasher);
    hasher.finish()
}

/// The text that a program has at an address, if its file tells.
fn text_at(trace: &Trace, addr: reweave_model::Addr) -> Option<String> {
    let byte =
        |i: u64| trace.symbols().initial(reweave_model::Addr(addr.0 + i), 1).and_then(|bytes| bytes.first().copied());
    let bytes: Vec<u8> = (0..128).map_while(byte).take_while(|byte| *byte != 0).collect();
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}
