//! All synchronization but locks, fork and join, as publications and observations on channels.
//!
//! Edges are in observed order. Deviations, towards more order (races are missed, never invented): a semaphore take
//! follows all earlier posts; a refused try follows the acquisition (or, of a semaphore, the takes) that refused it.
//! Firm are: a receive after the sends of its bytes; a barrier that only ever sees as many threads as it counts.

use std::collections::{HashSet, VecDeque};

use reweave_model::wire::kind;
use reweave_model::{AtomicKind, EventId, MemoryOrder, ObjectId, Op, ThreadId};
use reweave_trace::{Result, Trace};

use super::hash::FastMap;
use super::order::at;
use super::{Channel, Linear, Meeting, Sync, Thread};

/// Sends kept apart per channel; the oldest then only count as sent at some time before.
const MAX_SENDS: usize = 1024;

/// What must be known before the pass.
#[derive(Default, Clone)]
pub(super) struct Hints {
    /// Barriers that are firm, by object and life.
    firm_barriers: HashSet<(ObjectId, u32)>,
    /// Whether any operation is refused: only then must acquisitions be published.
    pub refusals: bool,
}

impl Hints {
    /// For events nothing is known of: no barrier is firm, and everything may be refused.
    pub fn unknown() -> Self {
        Self { refusals: true, ..Self::default() }
    }

    /// For a text in STD form, which has neither barriers nor tries that fail.
    pub fn of_text() -> Self {
        Self::default()
    }

    pub fn of(trace: &Trace) -> Result<Self> {
        let mut hints = Self { refusals: trace.may_have(kind::REFUSED), ..Self::default() };
        if !trace.may_have(kind::BARRIER_ARRIVE) {
            return Ok(hints);
        }
        let mut lives: FastMap<ObjectId, u32> = FastMap::default();
        let mut seen: FastMap<(ObjectId, u32), (u32, Vec<ThreadId>)> = FastMap::default();
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            match event.op {
                Op::BarrierArrive { barrier, count } => {
                    let life = *lives.entry(barrier).or_default();
                    let (expected, threads) = seen.entry((barrier, life)).or_insert((count, Vec::new()));
                    if *expected != count {
                        *expected = 0;
                    }
                    if !threads.contains(&event.thread) {
                        threads.push(event.thread);
                    }
                }
                Op::Create { object, .. } | Op::Destroy { object, .. } => *lives.entry(object).or_default() += 1,
                _ => {}
            }
        }
        let firm = seen.into_iter().filter(|(_, (count, threads))| threads.len() == *count as usize);
        hints.firm_barriers = firm.map(|(key, _)| key).collect();
        Ok(hints)
    }
}

#[derive(Default)]
struct Barrier {
    arrived: Vec<Thread>,
    /// Of the round that fills.
    round: Option<Channel>,
    /// Threads of full rounds that have not left, with the channel of their round and how many of it are left.
    leaving: Vec<(Thread, Channel)>,
}

#[derive(Default)]
struct Stream {
    // invariant: in order of sending
    sends: VecDeque<(u64, u64, Channel)>,
    /// All sends, for receives of what is kept no more.
    all: Option<Channel>,
}

#[derive(Default)]
struct Fences {
    /// What a relaxed store publishes after a release fence.
    released: Option<Channel>,
    /// What an acquire fence takes from the relaxed loads before it.
    seen: Option<Channel>,
}

#[derive(Default)]
pub(super) struct Channels {
    hints: Hints,
    free: Vec<Channel>,
    next: u32,
    barriers: FastMap<ObjectId, Barrier>,
    barrier_lives: FastMap<ObjectId, u32>,
    streams: FastMap<ObjectId, Stream>,
    /// Streams kept at once, and in which order they came: pipes have new names for ever.
    max_streams: Option<usize>,
    stream_order: VecDeque<ObjectId>,
    /// What was sent on streams that are kept no more.
    evicted: Option<Channel>,
    /// Semaphores, onces: one channel that grows; and for refusals the takes of semaphores and acquisitions of locks.
    objects: FastMap<ObjectId, Channel>,
    refusers: FastMap<ObjectId, Channel>,
    /// Notifies that have waiters still to come back, and how many.
    notifies: FastMap<u32, (Channel, u32)>,
    atomics: FastMap<u64, Channel>,
    fences: Vec<Fences>,
}

/// Where synchronization goes.
pub(super) struct To<'a, L: ?Sized> {
    pub event: EventId,
    pub thread: Thread,
    pub out: &'a mut L,
}

impl<L: Linear + ?Sized> To<'_, L> {
    pub fn send(&mut self, sync: Sync) {
        self.out.sync(self.event, self.thread, sync);
    }
    pub fn meet(&mut self, meeting: Meeting) {
        self.out.meet(self.event, self.thread, meeting);
    }
    fn publish(&mut self, channel: Channel) {
        self.send(Sync::Publish { channel, fresh: false, firm: false });
    }
    fn observe(&mut self, channel: Option<Channel>) {
        if let Some(channel) = channel {
            self.send(Sync::Observe { channel, firm: false });
        }
    }
}

impl Channels {
    pub fn new(hints: Hints) -> Self {
        Self { hints, ..Self::default() }
    }

    /// Keeps no more than so many streams. What was sent on an older one counts as received by whoever receives on a
    /// stream that is not known: more order, so that races are missed, never invented.
    pub fn bound_streams(&mut self, max: usize) {
        self.max_streams = Some(max);
    }

    /// Room for one more stream.
    fn evict<L: Linear + ?Sized>(&mut self, new: ObjectId, to: &mut To<'_, L>) {
        let Some(max) = self.max_streams.filter(|_| !self.streams.contains_key(&new)) else { return };
        while self.streams.len() >= max
            && let Some(oldest) = self.stream_order.pop_front()
        {
            if let Some(from) = self.streams.get(&oldest).and_then(|stream| stream.all) {
                let evicted = self.evicted.unwrap_or_else(|| self.channel());
                self.evicted = Some(evicted);
                to.send(Sync::Copy { from, to: evicted, fresh: false });
            }
            self.end_of_stream(oldest, to);
        }
        // Those that ended by themselves leave their names behind.
        if self.stream_order.len() > 2 * max {
            let streams = &self.streams;
            self.stream_order.retain(|object| streams.contains_key(object));
        }
        self.stream_order.push_back(new);
    }

    fn end_of_stream<L: Linear + ?Sized>(&mut self, object: ObjectId, to: &mut To<'_, L>) {
        if let Some(stream) = self.streams.remove(&object) {
            let sends = stream.sends.into_iter().map(|(_, _, channel)| channel);
            sends.chain(stream.all).for_each(|channel| self.give_back(channel, to));
        }
    }

    fn channel(&mut self) -> Channel {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            Channel(self.next - 1)
        })
    }

    fn give_back<L: Linear + ?Sized>(&mut self, channel: Channel, to: &mut To<'_, L>) {
        to.send(Sync::Clear { channel });
        self.free.push(channel);
    }

    fn object(&mut self, object: ObjectId) -> Channel {
        if let Some(&channel) = self.objects.get(&object) {
            return channel;
        }
        let channel = self.channel();
        self.objects.insert(object, channel);
        channel
    }

    /// Somebody took it: whoever is refused from now on has seen that.
    pub fn taken<L: Linear + ?Sized>(&mut self, object: ObjectId, to: &mut To<'_, L>) {
        if self.hints.refusals {
            let channel = self.refusers.get(&object).copied().unwrap_or_else(|| self.channel());
            self.refusers.insert(object, channel);
            to.publish(channel);
        }
    }

    pub fn woken<L: Linear + ?Sized>(&mut self, notify: u32, to: &mut To<'_, L>) {
        if let Some((channel, left)) = self.notifies.get_mut(&notify) {
            let channel = *channel;
            *left = left.saturating_sub(1);
            let last = *left == 0;
            to.observe(Some(channel));
            if last {
                self.notifies.remove(&notify);
                self.give_back(channel, to);
            }
        }
    }

    pub fn event<L: Linear + ?Sized>(&mut self, op: &Op<'_>, to: &mut To<'_, L>) {
        self.edges(op, to);
        match *op {
            Op::Notify { condition: object, .. }
            | Op::BarrierArrive { barrier: object, .. }
            | Op::BarrierLeave { barrier: object, .. }
            | Op::SemaphorePost { semaphore: object, .. }
            | Op::SemaphoreTake { semaphore: object, .. }
            | Op::OnceBegin { object }
            | Op::OnceEnd { object }
            | Op::OnceDone { object } => to.meet(Meeting::Object(object)),
            _ => {}
        }
    }

    fn edges<L: Linear + ?Sized>(&mut self, op: &Op<'_>, to: &mut To<'_, L>) {
        match *op {
            Op::Refused { object, .. } => to.observe(self.refusers.get(&object).copied()),
            Op::Notify { notify, woken, .. } if woken > 0 => {
                let channel = self.channel();
                to.publish(channel);
                self.notifies.insert(notify, (channel, woken));
            }
            Op::BarrierArrive { barrier, count } => self.arrive(barrier, count, to),
            Op::BarrierLeave { barrier, .. } => self.leave(barrier, to),
            Op::SemaphorePost { semaphore: object, .. } | Op::OnceEnd { object } => {
                let channel = self.object(object);
                to.publish(channel);
            }
            Op::SemaphoreTake { semaphore: object, .. } => {
                to.observe(self.objects.get(&object).copied());
                self.taken(object, to);
            }
            Op::OnceBegin { object } | Op::OnceDone { object } => to.observe(self.objects.get(&object).copied()),
            Op::Send { channel, position, size } => self.send(channel, position, size, to),
            Op::Receive { channel, position, size } => self.receive(channel, position, size, to),
            Op::Create { object, .. } | Op::Destroy { object, .. } => self.end_of(object, to),
            Op::Fence { order } => self.fence(order, to),
            _ => {}
        }
    }

    fn end_of<L: Linear + ?Sized>(&mut self, object: ObjectId, to: &mut To<'_, L>) {
        self.barriers.remove(&object);
        if !self.hints.firm_barriers.is_empty() {
            *self.barrier_lives.entry(object).or_default() += 1;
        }
        for channel in [self.objects.remove(&object), self.refusers.remove(&object)].into_iter().flatten() {
            self.give_back(channel, to);
        }
        self.end_of_stream(object, to);
    }

    fn is_firm(&self, barrier: ObjectId) -> bool {
        let life = self.barrier_lives.get(&barrier).copied().unwrap_or(0);
        self.hints.firm_barriers.contains(&(barrier, life))
    }

    fn arrive<L: Linear + ?Sized>(&mut self, object: ObjectId, count: u32, to: &mut To<'_, L>) {
        let firm = self.is_firm(object);
        let round = self.barriers.entry(object).or_default().round;
        let channel = round.unwrap_or_else(|| self.channel());
        to.send(Sync::Publish { channel, fresh: false, firm });
        let barrier = self.barriers.entry(object).or_default();
        barrier.arrived.push(to.thread);
        barrier.round = Some(channel);
        if barrier.arrived.len() >= count as usize {
            barrier.round = None;
            barrier.leaving.extend(barrier.arrived.drain(..).map(|thread| (thread, channel)));
        }
    }

    fn leave<L: Linear + ?Sized>(&mut self, object: ObjectId, to: &mut To<'_, L>) {
        let firm = self.is_firm(object);
        let barrier = self.barriers.entry(object).or_default();
        if let Some(at) = barrier.leaving.iter().position(|&(thread, _)| thread == to.thread) {
            let (_, channel) = barrier.leaving.swap_remove(at);
            let last = barrier.leaving.iter().all(|&(_, other)| other != channel);
            to.send(Sync::Observe { channel, firm });
            if last {
                self.give_back(channel, to);
            }
        }
    }

    fn send<L: Linear + ?Sized>(&mut self, object: ObjectId, position: u64, size: u64, to: &mut To<'_, L>) {
        self.evict(object, to);
        let channel = self.channel();
        to.send(Sync::Publish { channel, fresh: false, firm: true });
        let all = self.streams.entry(object).or_default().all.unwrap_or_else(|| self.channel());
        to.publish(all);
        let stream = self.streams.entry(object).or_default();
        stream.all = Some(all);
        stream.sends.push_back((position, position.saturating_add(size.max(1)), channel));
        if stream.sends.len() > MAX_SENDS
            && let Some((_, _, oldest)) = stream.sends.pop_front()
        {
            self.give_back(oldest, to);
        }
    }

    fn receive<L: Linear + ?Sized>(&mut self, object: ObjectId, position: u64, size: u64, to: &mut To<'_, L>) {
        let Some(stream) = self.streams.get_mut(&object) else {
            to.observe(self.evicted);
            return;
        };
        let end = position.saturating_add(size);
        let oldest = stream.sends.front().map_or(u64::MAX, |&(from, ..)| from);
        if size == 0 || position < oldest {
            // The end of the stream, or something looked at before.
            to.observe(stream.all);
            to.observe(self.evicted);
        }
        for &(from, until, channel) in &stream.sends {
            if from < end && position < until {
                to.send(Sync::Observe { channel, firm: true });
            }
        }
        while let Some(&(_, until, channel)) = stream.sends.front().filter(|&&(_, until, _)| until <= end && size > 0) {
            stream.sends.pop_front();
            debug_assert!(until <= end);
            to.send(Sync::Clear { channel });
            self.free.push(channel);
        }
    }

    fn fences(&mut self, thread: Thread) -> &mut Fences {
        at(&mut self.fences, thread.index())
    }

    fn fence<L: Linear + ?Sized>(&mut self, order: MemoryOrder, to: &mut To<'_, L>) {
        if order.acquires()
            && let Some(channel) = self.fences(to.thread).seen.take()
        {
            to.observe(Some(channel));
            self.give_back(channel, to);
        }
        if order.releases() {
            let channel = self.fences(to.thread).released.unwrap_or_else(|| self.channel());
            self.fences(to.thread).released = Some(channel);
            to.send(Sync::Publish { channel, fresh: true, firm: false });
        }
    }

    /// What an atomic access learns: comes before the access itself.
    pub fn before_atomic<L: Linear + ?Sized>(
        &mut self,
        kind: AtomicKind,
        order: MemoryOrder,
        addr: u64,
        to: &mut To<'_, L>,
    ) {
        let Some(&from) = self.atomics.get(&addr).filter(|_| kind.reads()) else { return };
        if order.acquires() {
            to.observe(Some(from));
        } else {
            let seen = self.fences(to.thread).seen.unwrap_or_else(|| self.channel());
            self.fences(to.thread).seen = Some(seen);
            to.send(Sync::Copy { from, to: seen, fresh: false });
        }
    }

    /// What an atomic access tells. Returns whether anything is kept for this address.
    pub fn after_atomic<L: Linear + ?Sized>(
        &mut self,
        kind: AtomicKind,
        order: MemoryOrder,
        addr: u64,
        to: &mut To<'_, L>,
    ) -> bool {
        if !kind.writes() {
            return false;
        }
        // An exchange or update goes on with the release sequence that it read from; a plain store starts anew.
        let fresh = kind == AtomicKind::Store;
        let fence = self.fences(to.thread).released;
        if !order.releases() && fence.is_none() {
            if fresh && let Some(channel) = self.atomics.remove(&addr) {
                self.give_back(channel, to);
            }
            return false;
        }
        let channel = self.atomics.get(&addr).copied().unwrap_or_else(|| self.channel());
        self.atomics.insert(addr, channel);
        match fence {
            Some(from) if !order.releases() => to.send(Sync::Copy { from, to: channel, fresh }),
            _ => to.send(Sync::Publish { channel, fresh, firm: false }),
        }
        true
    }

    /// For an analysis that starts over: what atomics carried comes from before.
    pub fn forget_all_atomics(&mut self) {
        self.free.extend(self.atomics.drain().map(|(_, channel)| channel));
    }

    /// The word at this address starts a new life.
    pub fn forget_atomics<L: Linear + ?Sized>(&mut self, word_addr: u64, to: &mut To<'_, L>) {
        for addr in word_addr..word_addr.saturating_add(8) {
            if let Some(channel) = self.atomics.remove(&addr) {
                self.give_back(channel, to);
            }
        }
    }
}
