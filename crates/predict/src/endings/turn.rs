//! What a run that went wrong turned on, where that has a name: a notify that found nobody waiting, one that woke
//! somebody else, a pointer that was changed and changed back (ABA) before it was compared.
//!
//! Says what happened in this run, not that it alone is to blame.

use std::collections::HashMap;

use reweave_model::{Addr, AtomicKind, EventId, ObjectId, Op, ThreadId, TurningPoint, Value};
use reweave_trace::{Result, Trace};

/// Of a run in which somebody waits for a notify at the end, what became of the notifies; of others, whether a
/// compare-exchange took a pointer for one that had never changed.
pub fn turn(trace: &Trace) -> Result<Option<TurningPoint>> {
    let mut notifies = Notifies::default();
    let mut pointers = Pointers::default();
    let mut aba = false;
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        match event.op {
            Op::Wait { condition, .. } => drop(notifies.waiting.insert(event.thread, (condition, event.id))),
            Op::Woken { .. } => drop(notifies.waiting.remove(&event.thread)),
            Op::Notify { condition, woken, .. } => notifies.all.push((condition, event.id, woken)),
            Op::Atomic { kind, addr, read, written, .. } if !aba => {
                aba = pointers.see(event.thread, addr, kind, word(read), word(written)).is_some_and(|value| {
                    trace.blocks().at(Addr(value), event.id).is_some()
                        || trace.symbols().variable(Addr(value)).is_some()
                });
            }
            _ => {}
        }
    }
    Ok(notifies.turn().or(aba.then_some(TurningPoint::Aba)))
}

fn word(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Word(word) => Some(word),
        Value::Bytes(_) | Value::Unknown => None,
    }
}

#[derive(Default)]
struct Notifies {
    /// Who waits for which condition, and since when.
    waiting: HashMap<ThreadId, (ObjectId, EventId)>,
    /// Which condition, when, and how many it woke.
    all: Vec<(ObjectId, EventId, u32)>,
}

impl Notifies {
    fn turn(&self) -> Option<TurningPoint> {
        let any = |is: &dyn Fn(EventId, EventId, u32) -> bool| {
            let mut waiting = self.waiting.values();
            waiting.any(|(on, since)| self.all.iter().any(|(at, when, woken)| at == on && is(*since, *when, *woken)))
        };
        if any(&|since, when, woken| when > since && woken > 0) {
            return Some(TurningPoint::NotifyForAnother);
        }
        any(&|since, when, woken| when < since && woken == 0).then_some(TurningPoint::NotifyTooEarly)
    }
}

/// What threads know of locations that are compared and exchanged.
#[derive(Default)]
struct Pointers {
    /// How often each was changed.
    changes: HashMap<Addr, u64>,
    /// What a thread read there last, and how often it had been changed by then.
    read: HashMap<(ThreadId, Addr), (u64, u64)>,
}

impl Pointers {
    /// What a compare-exchange found again, although it had been changed since the thread read it.
    fn see(
        &mut self,
        thread: ThreadId,
        addr: Addr,
        kind: AtomicKind,
        read: Option<u64>,
        written: Option<u64>,
    ) -> Option<u64> {
        let changes = self.changes.entry(addr).or_default();
        let before = self.read.get(&(thread, addr)).copied();
        let again = (kind == AtomicKind::CasDone && read == before.map(|(value, _)| value))
            .then(|| before.filter(|(value, then)| *value != 0 && then < changes).map(|(value, _)| value));
        if kind.writes() && read != written {
            *changes += 1;
        }
        let known = if kind.writes() { written } else { read };
        match known {
            Some(value) => drop(self.read.insert((thread, addr), (value, *changes))),
            None => drop(self.read.remove(&(thread, addr))),
        }
        again.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: Addr = Addr(0x1000);

    #[test]
    fn a_pointer_that_came_back() {
        let (one, two) = (ThreadId(1), ThreadId(2));
        let cas = |pointers: &mut Pointers, thread, from: u64, to: u64| {
            pointers.see(thread, TOP, AtomicKind::CasDone, Some(from), Some(to))
        };
        let mut pointers = Pointers::default();
        assert_eq!(pointers.see(one, TOP, AtomicKind::Load, Some(8), None), None);
        assert_eq!(cas(&mut pointers, two, 8, 16), None);
        assert_eq!(cas(&mut pointers, two, 16, 8), None);
        assert_eq!(cas(&mut pointers, one, 8, 24), Some(8), "changed and changed back in between");
        let mut pointers = Pointers::default();
        assert_eq!(pointers.see(one, TOP, AtomicKind::Load, Some(8), None), None);
        assert_eq!(cas(&mut pointers, two, 8, 16), None);
        assert_eq!(pointers.see(one, TOP, AtomicKind::CasFailed, Some(16), None), None);
        assert_eq!(cas(&mut pointers, one, 16, 24), None, "it knew of the change");
        assert_eq!(cas(&mut pointers, one, 24, 8), None, "its own");
    }

    #[test]
    fn what_became_of_notifies() {
        let (ready, other) = (ObjectId(1), ObjectId(2));
        let turn = |notifies: &[(ObjectId, u64, u32)]| {
            let waiting = HashMap::from([(ThreadId(1), (ready, EventId(10)))]);
            let all = notifies.iter().map(|(on, when, woken)| (*on, EventId(*when), *woken)).collect();
            Notifies { waiting, all }.turn()
        };
        assert_eq!(turn(&[(ready, 5, 0)]), Some(TurningPoint::NotifyTooEarly));
        assert_eq!(turn(&[(ready, 5, 0), (ready, 12, 1)]), Some(TurningPoint::NotifyForAnother));
        assert_eq!(turn(&[(ready, 5, 1), (other, 6, 0)]), None, "that one had its effect");
        assert_eq!(turn(&[]), None);
    }
}
