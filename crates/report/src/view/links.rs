//! What ordered what in a run: the last release before an acquire, the notify that woke a waiter, the fork before a
//! begin. Only edges between different threads: within one thread the order is plain.

use std::collections::HashMap;

use reweave_model::{Event, EventId, ObjectId, Op, ThreadId};

use super::LinkKind;

/// Where an edge comes from.
type Source = (EventId, ThreadId);

#[derive(Default)]
pub struct Linker {
    forked: HashMap<ThreadId, Source>,
    ended: HashMap<ThreadId, Source>,
    released: HashMap<ObjectId, Source>,
    notified: HashMap<u32, Source>,
    arrived: HashMap<ObjectId, Source>,
    posted: HashMap<ObjectId, Source>,
    sent: HashMap<ObjectId, Source>,
    initialised: HashMap<ObjectId, Source>,
}

impl Linker {
    /// The event from which an edge leads to this one.
    pub fn see(&mut self, event: &Event<'_>) -> Option<(LinkKind, EventId)> {
        let here = (event.id, event.thread);
        let (kind, source) = match event.op {
            Op::Fork { child, .. } => return self.put(|all| &mut all.forked, child, here),
            Op::Begin => (LinkKind::Fork, self.forked.get(&event.thread)),
            Op::End => return self.put(|all| &mut all.ended, event.thread, here),
            Op::Join { child } => (LinkKind::Join, self.ended.get(&child)),
            Op::Release { object, .. } => return self.put(|all| &mut all.released, object, here),
            Op::Acquire { object, .. } => (LinkKind::Lock, self.released.get(&object)),
            // It also gives its mutex up.
            Op::Wait { mutex, .. } => return self.put(|all| &mut all.released, mutex, here),
            Op::Notify { notify, .. } => return self.put(|all| &mut all.notified, notify, here),
            Op::Woken { mutex, notify, .. } => match self.notified.get(&notify) {
                Some(source) if notify != 0 => (LinkKind::Notify, Some(source)),
                _ => (LinkKind::Lock, self.released.get(&mutex)),
            },
            Op::BarrierArrive { barrier, .. } => return self.put(|all| &mut all.arrived, barrier, here),
            Op::BarrierLeave { barrier, .. } => (LinkKind::Barrier, self.arrived.get(&barrier)),
            Op::SemaphorePost { semaphore, .. } => return self.put(|all| &mut all.posted, semaphore, here),
            Op::SemaphoreTake { semaphore, .. } => (LinkKind::Semaphore, self.posted.get(&semaphore)),
            Op::Send { channel, .. } => return self.put(|all| &mut all.sent, channel, here),
            Op::Receive { channel, .. } => (LinkKind::Message, self.sent.get(&channel)),
            Op::OnceEnd { object } => return self.put(|all| &mut all.initialised, object, here),
            Op::OnceDone { object } => (LinkKind::Once, self.initialised.get(&object)),
            _ => return None,
        };
        source.filter(|(_, thread)| *thread != event.thread).map(|(from, _)| (kind, *from))
    }

    fn put<K: Eq + std::hash::Hash>(
        &mut self,
        map: impl FnOnce(&mut Self) -> &mut HashMap<K, Source>,
        key: K,
        here: Source,
    ) -> Option<(LinkKind, EventId)> {
        map(self).insert(key, here);
        None
    }
}
