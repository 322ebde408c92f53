//! Vector clocks, and how they travel along the edges of a trace.

use reweave_model::LockMode;

use super::{Channel, Gone, Sync, Thread};

/// Entry `t`: up to which of its epochs (or events: that is up to the analysis) thread `t` is known.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VectorClock(Vec<u32>);

impl VectorClock {
    #[inline]
    pub fn get(&self, thread: Thread) -> u32 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    pub fn set(&mut self, thread: Thread, epoch: u32) {
        if self.0.len() <= thread.index() {
            self.0.resize(thread.index() + 1, 0);
        }
        self.0[thread.index()] = epoch;
    }

    #[inline]
    pub fn join(&mut self, other: &Self) {
        self.join_slice(&other.0);
    }

    #[inline]
    pub fn join_slice(&mut self, other: &[u32]) {
        if self.0.len() < other.len() {
            self.0.resize(other.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(other) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Takes over the other without giving back the memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Which edges clocks travel along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edges {
    /// Only those that every feasible reordering keeps.
    Firm,
    /// All but from a release to the next acquire.
    NoLocks,
    All,
}

#[derive(Clone, Default)]
struct LockClocks {
    exclusive: VectorClock,
    /// Of shared releases since the last exclusive one.
    shared: VectorClock,
}

/// The clocks of threads, channels and locks. It carries what it is given: counting epochs is up to the caller.
#[derive(Clone)]
pub struct Order {
    edges: Edges,
    threads: Vec<VectorClock>,
    channels: Vec<VectorClock>,
    locks: Vec<LockClocks>,
}

impl Order {
    pub fn along(edges: Edges) -> Self {
        Self { edges, threads: Vec::new(), channels: Vec::new(), locks: Vec::new() }
    }

    #[inline]
    pub fn thread(&mut self, thread: Thread) -> &mut VectorClock {
        at(&mut self.threads, thread.index())
    }

    /// Of a thread that has acted.
    #[inline]
    pub fn clock(&self, thread: Thread) -> &VectorClock {
        &self.threads[thread.index()]
    }

    /// The current epoch of a thread: from 1, since 0 is what everybody knows of it.
    #[inline]
    pub fn epoch(&mut self, thread: Thread) -> u32 {
        let clock = self.thread(thread);
        let epoch = clock.get(thread);
        if epoch != 0 {
            return epoch;
        }
        clock.set(thread, 1);
        1
    }

    pub fn tick(&mut self, thread: Thread) {
        let epoch = self.epoch(thread).checked_add(1).expect("a thread has fewer than 2^32 epochs");
        self.thread(thread).set(thread, epoch);
    }

    /// Ends the epoch of every thread.
    pub fn tick_all(&mut self) {
        (0..self.threads.len() as u32).for_each(|thread| self.tick(Thread(thread)));
    }

    /// Ends the epochs that others learn of by this. A joined thread's too: its number may be used again.
    pub fn end_epochs(&mut self, thread: Thread, sync: Sync) {
        if sync.publishes() {
            self.tick(thread);
        }
        if let Sync::Join { child } = sync {
            self.tick(child);
        }
    }

    fn pass(&mut self, from: Thread, to: Thread) {
        let mut clock = std::mem::take(self.thread(to));
        clock.join(self.thread(from));
        *self.thread(to) = clock;
    }

    fn publish(&mut self, thread: Thread, channel: Channel, fresh: bool) {
        self.thread(thread);
        let (clock, to) = (&self.threads[thread.index()], at(&mut self.channels, channel.index()));
        if fresh { to.copy_from(clock) } else { to.join(clock) }
    }

    fn observe(&mut self, thread: Thread, channel: Channel) {
        if let Some(clock) = self.channels.get(channel.index()) {
            at(&mut self.threads, thread.index()).join(clock);
        }
    }

    /// Forgets locks that nobody will take again.
    pub fn retire(&mut self, gone: Gone<'_>) {
        for lock in gone.locks() {
            if let Some(clocks) = self.locks.get_mut(lock.index()) {
                *clocks = LockClocks::default();
            }
        }
    }

    pub fn sync(&mut self, thread: Thread, sync: Sync) {
        let (firm_only, locks) = (self.edges == Edges::Firm, self.edges == Edges::All);
        match sync {
            Sync::Fork { child } => self.pass(thread, child),
            Sync::Join { child } => self.pass(child, thread),
            Sync::Publish { firm: false, .. } | Sync::Observe { firm: false, .. } | Sync::Copy { .. } if firm_only => {}
            Sync::Publish { channel, fresh, .. } => self.publish(thread, channel, fresh),
            Sync::Observe { channel, .. } => self.observe(thread, channel),
            Sync::Copy { from, to, fresh } => {
                let mut clock = std::mem::take(at(&mut self.channels, to.index()));
                if fresh {
                    clock.clear();
                }
                clock.join(at(&mut self.channels, from.index()));
                self.channels[to.index()] = clock;
            }
            Sync::Clear { channel } => at(&mut self.channels, channel.index()).clear(),
            Sync::Acquire { lock, mode } if locks => {
                let (clock, lock) = (at(&mut self.threads, thread.index()), at(&mut self.locks, lock.index()));
                clock.join(&lock.exclusive);
                if mode == LockMode::Exclusive {
                    clock.join(&lock.shared);
                }
            }
            Sync::Release { lock, mode } if locks => {
                let (clock, lock) = (at(&mut self.threads, thread.index()), at(&mut self.locks, lock.index()));
                match mode {
                    LockMode::Exclusive => {
                        lock.exclusive.copy_from(clock);
                        lock.shared.clear();
                    }
                    LockMode::Shared => lock.shared.join(clock),
                }
            }
            Sync::Acquire { .. } | Sync::Release { .. } => {}
        }
    }
}

/// The element, made first if need be.
#[inline]
pub(crate) fn at<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}
