//! Makes a [`History`] of the kept events of a window.

use std::collections::{BTreeMap, HashMap, HashSet};

use reweave_model::{Addr, BlockedOn, EventId, LockMode, MemoryOrder, ObjectId, Op, Pc, StackId, ThreadId, WakeReason};
use reweave_trace::Symbols;

use super::buffer::{Data, Kept, What};
use super::cells::{Cells, Life, places};
use super::world::World;
use super::{Lowered, Origin};
use crate::history::*;

/// `initial`: what memory held before the trace; `None` if this window is not the first.
pub(super) fn build(kept: &[Kept], world: &World, initial: Option<&Symbols>) -> Lowered {
    let mut builder = Builder::new(kept, world, initial);
    if let Some(symbols) = initial {
        builder.initial_values(symbols);
    }
    builder.before(world);
    for (index, event) in kept.iter().enumerate() {
        builder.event(index, event);
    }
    builder.finish(kept.first().map_or(EventId(0), |first| first.id))
}

/// Tells values apart, nearly always.
fn fingerprint(data: &Data, part: &std::ops::Range<u64>, whole: &std::ops::Range<u64>) -> Option<u64> {
    let (offset, len) = ((part.start - whole.start) as usize, (part.end - part.start) as usize);
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    match data {
        Data::Unknown => None,
        Data::Word(word) => Some(word.to_le_bytes()[offset..offset + len].iter().fold(0xcbf2_9ce4, |h, &b| mix(h, b))),
        Data::Long(bytes) => Some(bytes[offset..offset + len].iter().fold(0xcbf2_9ce4, |hash, &byte| mix(hash, byte))),
    }
}

fn called(kept: &Kept) -> &'static str {
    match &kept.what {
        What::Free { .. } => "free",
        What::Access { kind: AccessKind::Plain, written: None, .. } => "read",
        What::Access { kind: AccessKind::Plain, .. } => "write",
        What::Access { written: None, .. } => "atomic load",
        What::Access { read: None, .. } => "atomic store",
        What::Access { .. } => "atomic update",
        What::Alloc { .. } | What::Sync(_) => "",
    }
}

/// Numbers of whatever is numbered in order of appearance.
struct Numbers<K> {
    numbers: HashMap<K, u32>,
    next: u32,
}

impl<K: std::hash::Hash + Eq> Numbers<K> {
    fn get(&mut self, key: K) -> u32 {
        let next = &mut self.next;
        *self.numbers.entry(key).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    /// What has this name is another thing from now on.
    fn renew(&mut self, key: K) {
        self.numbers.remove(&key);
    }
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), next: 0 }
    }
}

/// One cell while the window goes by.
#[derive(Clone, Default)]
struct CellNow {
    /// What it holds; `None`: not known yet.
    value: Option<Val>,
    /// Its number in the history; `None`: no reordering can tell it from others (private, or only read).
    number: Option<u32>,
    /// The last access of each thread, for `extern` writes, which come after all of them.
    last: Vec<(Thread, Pos)>,
    /// An `extern` write, and the threads that come after it already.
    pinned: Option<(Pos, Vec<Thread>)>,
}

struct Builder {
    history: History,
    origins: Vec<Origin>,
    threads: Vec<Option<ThreadId>>,
    thread_of: HashMap<ThreadId, Thread>,
    outside: Thread,
    places: Vec<Option<(Life, std::ops::Range<u64>)>>,
    cells: Cells,
    now: Vec<CellNow>,
    words: HashMap<(u64, u64), Val>,
    texts: HashMap<Box<[u8]>, Val>,
    values: u32,
    locks: Numbers<ObjectId>,
    conditions: Numbers<ObjectId>,
    barriers: Numbers<ObjectId>,
    semaphores: HashMap<ObjectId, Semaphore>,
    known_counts: HashMap<ObjectId, u32>,
    held: HashSet<(ThreadId, ObjectId)>,
    /// Objects that somebody waits on as on a condition; others are raw futexes.
    real_conditions: HashSet<ObjectId>,
    /// The last event of the time before the window.
    prelude: Option<Pos>,
    begun: HashSet<Thread>,
    forks: HashMap<ThreadId, Pos>,
    ends: HashMap<ThreadId, Pos>,
    notifies: HashMap<u32, Pos>,
    onces: HashMap<ObjectId, Pos>,
    /// Per channel: the last send and the last receive, and which bytes each send carried.
    channels: HashMap<ObjectId, Channel>,
    /// The allocation of each life, and the threads that come after it already.
    allocs: BTreeMap<Life, (Pos, Vec<Thread>)>,
    lives_that_matter: HashSet<Life>,
    /// Freed blocks by start: end, and the event. An address is given out again only after it was given back.
    freed: BTreeMap<u64, (u64, Pos)>,
}

#[derive(Default)]
struct Channel {
    sends: Vec<(u64, u64, Pos)>,
    last_receive: Option<Pos>,
}

impl Builder {
    fn new(kept: &[Kept], world: &World, initial: Option<&Symbols>) -> Self {
        let places = places(kept);
        let mut accesses = Vec::new();
        for (event, place) in kept.iter().zip(&places) {
            if let (What::Access { .. }, Some(place)) = (&event.what, place) {
                accesses.push(place.clone());
            }
        }
        let cells = Cells::new(accesses);
        let mut thread_of = HashMap::new();
        let mut threads = Vec::new();
        let mut number = |thread: ThreadId| {
            thread_of.entry(thread).or_insert_with(|| {
                threads.push(Some(thread));
                Thread(threads.len() as u32 - 1)
            });
        };
        kept.iter().for_each(|event| number(event.thread));
        world.held.keys().for_each(|(thread, _)| number(*thread));
        world.waiting.keys().for_each(|thread| number(*thread));
        world.rounds.values().flatten().flat_map(|round| &round.arrived).for_each(|(thread, _)| number(*thread));
        let outside = Thread(threads.len() as u32);
        threads.push(None);
        let conditions = kept.iter().filter_map(|event| match event.what {
            What::Sync(Op::Wait { condition, .. }) => Some(condition),
            _ => None,
        });
        let real_conditions = conditions.chain(world.waiting.values().map(|waiting| waiting.condition)).collect();
        let history = History { threads: vec![Vec::new(); threads.len()], ..History::default() };
        let mut builder = Self {
            history,
            origins: Vec::new(),
            threads,
            thread_of,
            outside,
            now: vec![CellNow::default(); cells.len()],
            places,
            cells,
            words: HashMap::new(),
            texts: HashMap::new(),
            values: 0,
            locks: Numbers::default(),
            conditions: Numbers::default(),
            barriers: Numbers::default(),
            semaphores: HashMap::new(),
            known_counts: world.semaphores.clone(),
            held: world.held.keys().copied().collect(),
            real_conditions,
            prelude: None,
            begun: HashSet::new(),
            forks: HashMap::new(),
            ends: HashMap::new(),
            notifies: HashMap::new(),
            onces: HashMap::new(),
            channels: HashMap::new(),
            allocs: BTreeMap::new(),
            lives_that_matter: HashSet::new(),
            freed: BTreeMap::new(),
        };
        builder.number_cells(kept, initial);
        builder
    }

    /// Only cells that several threads use and somebody writes are in the history.
    fn number_cells(&mut self, kept: &[Kept], initial: Option<&Symbols>) {
        let mut users: Vec<(Option<ThreadId>, bool, bool)> = vec![(None, false, false); self.cells.len()];
        // What each cell holds, as a fingerprint, to see what changed unseen.
        let at_first = |cell: usize| {
            let bytes = self.cells.bytes(cell);
            let known = initial.filter(|_| self.cells.life(cell) == 0)?;
            let known = known.initial(Addr(bytes.start), (bytes.end - bytes.start) as usize)?;
            fingerprint(&Data::Long(known.into()), &bytes, &bytes)
        };
        let mut held: Vec<Option<u64>> = (0..self.cells.len()).map(at_first).collect();
        for (event, place) in kept.iter().zip(&self.places) {
            let Some((life, bytes)) = place else { continue };
            let writes = match &event.what {
                What::Access { written, .. } => written.is_some(),
                What::Free { .. } => true,
                _ => continue,
            };
            for cell in self.cells.within(*life, bytes.clone()) {
                let (user, shared, written) = &mut users[cell];
                *shared |= user.replace(event.thread).is_some_and(|before| before != event.thread);
                *written |= writes;
                let part = self.cells.bytes(cell);
                if let What::Access { read: Some(read), .. } = &event.what
                    && let Some(found) = fingerprint(read, &part, bytes)
                {
                    if held[cell].is_some_and(|held| held != found) {
                        (*shared, *written) = (true, true);
                    }
                    held[cell] = Some(found);
                }
                match &event.what {
                    What::Access { written: Some(new), .. } => held[cell] = fingerprint(new, &part, bytes),
                    What::Free { .. } => held[cell] = None,
                    _ => {}
                }
            }
        }
        for (cell, (_, shared, written)) in users.into_iter().enumerate() {
            if shared && written {
                self.now[cell].number = Some(self.history.initial.len() as u32);
                self.history.initial.push(Val::UNKNOWN);
            }
        }
        for place in self.places.iter().flatten().filter(|(life, _)| *life > 0) {
            if self.cells.within(place.0, place.1.clone()).any(|cell| self.now[cell].number.is_some()) {
                self.lives_that_matter.insert(place.0);
            }
        }
    }

    /// Global variables hold at first what the program's file says.
    fn initial_values(&mut self, symbols: &Symbols) {
        for cell in 0..self.cells.len() {
            let Some(number) = self.now[cell].number.filter(|_| self.cells.life(cell) == 0) else { continue };
            let bytes = self.cells.bytes(cell);
            if let Some(known) = symbols.initial(Addr(bytes.start), (bytes.end - bytes.start) as usize) {
                let value = self.value(&Data::Long(known.into()), bytes.clone(), &bytes);
                self.history.initial[number as usize] = value;
                self.now[cell].value = Some(value);
            }
        }
    }

    fn push(&mut self, thread: Thread, action: Action, mut after: Vec<Pos>, of: Option<&Kept>) -> Pos {
        let pos = Pos(self.history.steps.len() as u32);
        if self.begun.insert(thread) {
            after.extend(self.prelude);
            // Also without a begin, as in traces of other origin.
            after.extend(self.threads[thread.index()].and_then(|thread| self.forks.get(&thread)));
        }
        after.retain(|&before| self.history.step(before).thread != thread);
        after.sort_unstable();
        after.dedup();
        let (event, guarded, doubtful) =
            of.map_or((None, false, false), |kept| (Some(kept.id), kept.guarded, kept.doubtful));
        self.history.threads[thread.index()].push(pos);
        self.history.steps.push(Step { thread, action, guarded, after, event, doubtful });
        let nowhere = Origin { pc: Pc(0), stack: StackId(0), op: "", steps: 0 };
        self.origins.push(of.map_or(nowhere, |kept| {
            let &Kept { pc, stack, steps, .. } = kept;
            Origin { pc, stack, op: called(kept), steps }
        }));
        pos
    }

    /// What was so before the window, as events of its threads, one after the other.
    fn before(&mut self, world: &World) {
        let mut actions: Vec<(Thread, Action)> = Vec::new();
        for notified in [true, false] {
            for (thread, waiting) in world.waiting.iter().filter(|(_, waiting)| waiting.notified.is_some() == notified)
            {
                let (condition, lock) =
                    (Condition(self.conditions.get(waiting.condition)), Lock(self.locks.get(waiting.mutex)));
                let thread = self.thread_of[thread];
                actions.push((thread, Action::Acquire { lock, mode: LockMode::Exclusive }));
                actions.push((thread, Action::Wait { condition, lock }));
            }
            if notified {
                let mut conditions: Vec<_> = world
                    .waiting
                    .values()
                    .filter(|waiting| waiting.notified.is_some())
                    .map(|waiting| waiting.condition)
                    .collect();
                conditions.sort_unstable();
                conditions.dedup();
                for condition in conditions {
                    let condition = Condition(self.conditions.get(condition));
                    actions.push((self.outside, Action::Notify { condition, all: true }));
                }
            }
        }
        for (&(thread, object), &mode) in &world.held {
            actions.push((self.thread_of[&thread], Action::Acquire { lock: Lock(self.locks.get(object)), mode }));
        }
        for (&object, rounds) in &world.rounds {
            let barrier = Barrier(self.barriers.get(object));
            for round in rounds {
                for (thread, _) in &round.arrived {
                    actions.push((self.thread_of[thread], Action::Arrive { barrier, count: round.count }));
                }
                for (thread, left) in &round.arrived {
                    if let Some(serial) = *left {
                        actions.push((self.thread_of[thread], Action::Leave { barrier, serial }));
                    }
                }
            }
        }
        for (thread, action) in actions {
            let before = self.prelude.into_iter().collect();
            self.prelude = Some(self.push(thread, action, before, None));
        }
        self.begun.clear();
    }

    fn event(&mut self, index: usize, kept: &Kept) {
        let thread = self.thread_of[&kept.thread];
        match &kept.what {
            What::Access { kind, order, read, written, .. } => {
                self.access(index, thread, kept, *kind, *order, read.as_ref(), written.as_ref());
            }
            What::Free { addr, size } => {
                self.access(index, thread, kept, AccessKind::Plain, MemoryOrder::Relaxed, None, Some(&Data::Unknown));
                if let Some(&last) = self.history.threads[thread.index()].last() {
                    self.freed.insert(*addr, (addr.saturating_add(*size), last));
                }
            }
            What::Alloc { addr, size } => {
                let Some((life, _)) = self.places[index].clone() else { return };
                let end = addr.saturating_add(*size);
                let before = self.freed.range(..end).rev().take_while(|(_, (to, _))| to > addr);
                let after: Vec<Pos> = before.map(|(_, (_, pos))| *pos).collect();
                if self.lives_that_matter.contains(&life) || kept.guarded || kept.doubtful {
                    let pos = self.push(thread, Action::Nothing, after, Some(kept));
                    self.allocs.insert(life, (pos, vec![thread]));
                }
            }
            What::Sync(op) => self.sync(thread, kept, op),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of an access")]
    fn access(
        &mut self,
        index: usize,
        thread: Thread,
        kept: &Kept,
        kind: AccessKind,
        order: MemoryOrder,
        read: Option<&Data>,
        written: Option<&Data>,
    ) {
        let Some((life, bytes)) = self.places[index].clone() else { return };
        let mut access = Access { kind, order, reads: Vec::new(), writes: Vec::new() };
        let mut after = Vec::new();
        let cells = self.cells.within(life, bytes.clone());
        for cell in cells.clone() {
            let Some(number) = self.now[cell].number else { continue };
            let part = self.cells.bytes(cell);
            if let Some(read) = read {
                let value = self.observed(cell, number, part.clone(), &bytes, read);
                access.reads.push((Cell(number), value));
            }
            if let Some(written) = written {
                let value = self.value(written, part, &bytes);
                access.writes.push((Cell(number), value));
            }
        }
        if access.reads.is_empty() && access.writes.is_empty() {
            // No reordering can tell. It still carries its guard (an outcome is one): nothing else stands for it.
            let outcome = Action::Access(access).is_outcome();
            if kept.guarded || kept.doubtful || outcome || matches!(kept.what, What::Free { .. }) {
                let pos = self.push(thread, Action::Nothing, Vec::new(), Some(kept));
                self.history.steps[pos.index()].guarded |= outcome;
            }
            return;
        }
        for cell in cells.clone() {
            if let Some((pin, done)) = &mut self.now[cell].pinned
                && !done.contains(&thread)
            {
                done.push(thread);
                after.push(*pin);
            }
        }
        if let Some((alloc, done)) = self.allocs.get_mut(&life)
            && !done.contains(&thread)
        {
            done.push(thread);
            after.push(*alloc);
        }
        let writes = access.writes.clone();
        let pos = self.push(thread, Action::Access(access), after, Some(kept));
        for cell in cells {
            let now = &mut self.now[cell];
            let Some(number) = now.number else { continue };
            if let Ok(at) = writes.binary_search_by_key(&Cell(number), |(cell, _)| *cell) {
                if now.value.is_none() {
                    self.history.initial[number as usize] = Val(self.values);
                    self.values += 1;
                }
                now.value = Some(writes[at].1);
            }
            match now.last.iter_mut().find(|(who, _)| *who == thread) {
                Some((_, last)) => *last = pos,
                None => now.last.push((thread, pos)),
            }
        }
    }

    /// What a read found in a cell; what no write explains becomes an `extern` write just before.
    fn observed(
        &mut self,
        cell: usize,
        number: u32,
        part: std::ops::Range<u64>,
        whole: &std::ops::Range<u64>,
        read: &Data,
    ) -> Val {
        let before = self.now[cell].value;
        let value = match read {
            Data::Unknown => before.unwrap_or_else(|| self.fresh()),
            known => self.value(known, part, whole),
        };
        match before {
            None => self.history.initial[number as usize] = value,
            Some(before) if before == value => {}
            Some(_) => {
                let after = self.now[cell].last.iter().map(|(_, pos)| *pos).collect();
                let access = Access {
                    kind: AccessKind::Plain,
                    order: MemoryOrder::Relaxed,
                    reads: Vec::new(),
                    writes: vec![(Cell(number), value)],
                };
                let pin = self.push(self.outside, Action::Access(access), after, None);
                self.history.steps[pin.index()].doubtful = true;
                self.now[cell].last.push((self.outside, pin));
                self.now[cell].pinned = Some((pin, Vec::new()));
            }
        }
        self.now[cell].value = Some(value);
        value
    }

    fn fresh(&mut self) -> Val {
        self.values += 1;
        Val(self.values - 1)
    }

    /// The part of a value that lies in a cell.
    fn value(&mut self, data: &Data, part: std::ops::Range<u64>, whole: &std::ops::Range<u64>) -> Val {
        let (offset, len) = ((part.start - whole.start) as usize, (part.end - part.start) as usize);
        let next = Val(self.values);
        let value = match data {
            Data::Unknown => return self.fresh(),
            Data::Word(word) => {
                let bits = if len >= 8 { u64::MAX } else { (1 << (8 * len)) - 1 };
                *self.words.entry((len as u64, word >> (8 * offset) & bits)).or_insert(next)
            }
            Data::Long(bytes) => {
                let part = &bytes[offset..offset + len];
                if let Some(bytes) = part.first_chunk::<8>().filter(|_| len == 8) {
                    *self.words.entry((8, u64::from_le_bytes(*bytes))).or_insert(next)
                } else if len < 8 {
                    let mut word = [0; 8];
                    word[..len].copy_from_slice(part);
                    *self.words.entry((len as u64, u64::from_le_bytes(word))).or_insert(next)
                } else {
                    *self.texts.entry(part.into()).or_insert(next)
                }
            }
        };
        if value == next {
            self.values += 1;
        }
        value
    }

    fn sync(&mut self, thread: Thread, kept: &Kept, op: &Op<'static>) {
        let mut after = Vec::new();
        let action = match *op {
            Op::Fork { child, .. } => {
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.forks.insert(child, pos);
                return;
            }
            Op::End => {
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.ends.insert(kept.thread, pos);
                return;
            }
            Op::Join { child } => {
                // A trace of another origin has no ends: then the last event counts.
                let last = self.thread_of.get(&child).and_then(|child| self.history.threads[child.index()].last());
                after.extend(self.ends.get(&child).or(last));
                Action::Nothing
            }
            Op::Fence { order } => Action::Fence(order),
            Op::Acquire { object, mode, .. } => {
                self.held.insert((kept.thread, object));
                Action::Acquire { lock: Lock(self.locks.get(object)), mode }
            }
            // An unlock by somebody who does not hold it is a misuse, and releases nothing.
            Op::Release { object, .. } if !self.held.remove(&(kept.thread, object)) => Action::Nothing,
            Op::Release { object, mode } => Action::Release { lock: Lock(self.locks.get(object)), mode },
            Op::Refused { object, on: BlockedOn::Semaphore, .. } => {
                Action::TakeFailed { semaphore: self.semaphore(object, 0) }
            }
            // Refused to the holder itself: so it is in every reordering.
            Op::Refused { object, .. } if self.held.contains(&(kept.thread, object)) => Action::Nothing,
            Op::Refused { object, on, .. } => {
                let mode = if on == BlockedOn::LockShared { LockMode::Shared } else { LockMode::Exclusive };
                Action::AcquireFailed { lock: Lock(self.locks.get(object)), mode }
            }
            Op::Wait { condition, mutex } => {
                self.held.remove(&(kept.thread, mutex));
                let lock = Lock(self.locks.get(mutex));
                Action::Wait { condition: Condition(self.conditions.get(condition)), lock }
            }
            Op::Woken { condition, mutex, reason, notify } => {
                if mutex.0 == 0 {
                    after.extend(self.notifies.get(&notify));
                    Action::Nothing
                } else {
                    self.held.insert((kept.thread, mutex));
                    let how = match reason {
                        WakeReason::Notified => Waking::Notified,
                        WakeReason::TimedOut => Waking::TimedOut,
                        WakeReason::Spurious | WakeReason::Cancelled => Waking::Spurious,
                    };
                    let lock = Lock(self.locks.get(mutex));
                    Action::Woken { condition: Condition(self.conditions.get(condition)), lock, how }
                }
            }
            Op::Notify { condition, all, notify, .. } => {
                let action = if self.real_conditions.contains(&condition) {
                    Action::Notify { condition: Condition(self.conditions.get(condition)), all }
                } else {
                    Action::Nothing
                };
                let pos = self.push(thread, action, after, Some(kept));
                self.notifies.insert(notify, pos);
                return;
            }
            Op::BarrierArrive { barrier, count } => {
                Action::Arrive { barrier: Barrier(self.barriers.get(barrier)), count: count.max(1) }
            }
            Op::BarrierLeave { barrier, serial } => {
                Action::Leave { barrier: Barrier(self.barriers.get(barrier)), serial }
            }
            Op::SemaphorePost { semaphore, value } => {
                Action::Post { semaphore: self.semaphore(semaphore, value.saturating_sub(1)) }
            }
            Op::SemaphoreTake { semaphore, value } => {
                Action::Take { semaphore: self.semaphore(semaphore, value.saturating_add(1)) }
            }
            Op::Create { object, value, .. } => {
                self.known_counts.insert(object, value);
                // Used before: the same address is another object now, and counts anew.
                self.semaphores.remove(&object);
                self.barriers.renew(object);
                Action::Nothing
            }
            Op::OnceBegin { object } | Op::OnceDone { object } => {
                after.extend(self.onces.get(&object));
                Action::Nothing
            }
            Op::OnceEnd { object } => {
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.onces.insert(object, pos);
                return;
            }
            Op::Send { channel, position, size } => {
                if let Some(channel) = self.channels.get(&channel) {
                    after.extend(channel.sends.last().map(|(_, _, pos)| *pos));
                    // How much there was to receive is an outcome.
                    after.extend(channel.last_receive);
                }
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.channels.entry(channel).or_default().sends.push((
                    position,
                    position.saturating_add(size.max(1)),
                    pos,
                ));
                return;
            }
            Op::Receive { channel, position, size } => {
                let end = position.saturating_add(size.max(1));
                let channel_now = self.channels.entry(channel).or_default();
                after.extend(channel_now.last_receive);
                // Sends follow each other: the last that carried some of it stands for all.
                let mut sends = channel_now.sends.iter().rev();
                after.extend(sends.find(|(from, to, _)| *from < end && *to > position).map(|(_, _, pos)| *pos));
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.channels.entry(channel).or_default().last_receive = Some(pos);
                return;
            }
            _ => Action::Nothing,
        };
        self.push(thread, action, after, Some(kept));
    }

    /// `count`: what it was before this event, by the event's own account.
    fn semaphore(&mut self, object: ObjectId, count: u32) -> Semaphore {
        let count = self.known_counts.get(&object).copied().unwrap_or(count);
        let (semaphores, counts) = (&mut self.semaphores, &mut self.history.semaphores);
        *semaphores.entry(object).or_insert_with(|| {
            counts.push(count);
            Semaphore(counts.len() as u32 - 1)
        })
    }

    fn finish(mut self, start: EventId) -> Lowered {
        // Who wrote it unseen may have done so elsewhere in another order: no read of such a cell proves anything.
        let pinned = self.now.iter().filter(|now| now.pinned.is_some()).filter_map(|now| now.number);
        let pinned: HashSet<Cell> = pinned.map(Cell).collect();
        if !pinned.is_empty() {
            for step in &mut self.history.steps {
                step.doubtful |= step
                    .action
                    .access()
                    .is_some_and(|access| access.reads.iter().any(|(cell, _)| pinned.contains(cell)));
            }
        }
        self.history.locks = self.locks.next;
        self.history.conditions = self.conditions.next;
        self.history.barriers = self.barriers.next;
        Lowered { history: self.history, origins: self.origins, threads: self.threads, start }
    }
}
