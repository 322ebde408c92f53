//! Sync-preserving deadlocks (Tunç, Mathur, Pavlogiannis, Viswanathan: Sound Dynamic Deadlock Prediction in Linear
//! Time, PLDI 2023). Sound; misses deadlocks that need critical sections of one lock reversed.
//!
//! Requests of one thread for one lock under the same locks are one abstract acquisition, and cycles of these
//! ([`relation`](crate::search::deadlocks::relation)) are abstract patterns. An instance of a pattern is a deadlock if
//! none of its requests is in its [ideal](super::syncp): the ideal in trace order leads there. Since ideals only grow
//! along the instances, one pass over each pattern finds the first. Near linear for fixed numbers of threads and locks;
//! memory is linear in the trace.
//!
//! Deviations: shared locks, hard edges and the ends of waits, as in `syncp` and `goodlock`. One deadlock per pattern,
//! with the code positions of its first instance.

use reweave_model::{Event, EventId, Kind, LockChange, LockMode, Op, Pc};
use reweave_trace::Result;

use super::syncp::{Recorder, Stamp};
use crate::analysis::{About, Analysis, Guarantee};
use crate::linear::{Access, Candidates, Cycle, FastMap, Linear, Lock, LocksetId, Locksets, Sync, Thread, Touch, Word};
use crate::prediction::Prediction;
use crate::search::deadlocks::relation::{Dependency, Relation};

/// The analysis `sync-preserving-deadlock`.
pub struct SyncPreservingDeadlock;

impl Analysis for SyncPreservingDeadlock {
    fn about(&self) -> About {
        let summary = "deadlocks that keep the order of critical sections";
        About::new("sync-preserving-deadlock", Kind::Deadlock, Guarantee::Sound, summary)
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<SyncpDeadlocks>::default())
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.deadlocks(self.id())
    }
}

/// Steps of the search for the patterns of one abstract acquisition.
const MAX_SEARCH: u64 = 1 << 14;
/// Patterns looked at, short ones first.
const MAX_PATTERNS: usize = 1 << 12;

/// Thread, locks held, lock wanted, and whether shared.
type Key = (u32, LocksetId, Lock, bool);

#[derive(Clone, Copy)]
struct Request {
    event: EventId,
    pc: Pc,
    /// Of what precedes it: `count` does not include the request itself.
    before: Stamp,
}

#[derive(Default)]
pub struct SyncpDeadlocks {
    recorder: Recorder,
    locksets: Locksets,
    ids: FastMap<Key, usize>,
    // invariant: by number of the key; the requests ascend
    requests: Vec<(Key, Vec<Request>)>,
    /// A request that an acquisition follows.
    now: Option<(EventId, Pc)>,
    dropped: u64,
}

impl SyncpDeadlocks {
    fn request(&mut self, request: Request, key: Key) {
        let requests = &mut self.requests;
        let id = *self.ids.entry(key).or_insert_with(|| {
            requests.push((key, Vec::new()));
            requests.len() - 1
        });
        requests[id].1.push(request);
    }

    /// The first instance of a pattern that is a deadlock.
    fn instance(&self, pattern: &[usize]) -> Option<Vec<Request>> {
        let mut ideal = self.recorder.ideal();
        let mut at = vec![0; pattern.len()];
        loop {
            let now = |i: usize| self.requests[pattern[i]].1.get(at[i]).copied();
            let requests: Vec<Request> = (0..pattern.len()).map(now).collect::<Option<_>>()?;
            requests.iter().for_each(|request| ideal.add(request.before));
            if !ideal.close() {
                return None;
            }
            if !requests.iter().any(|request| ideal.has(request.before)) {
                return Some(requests);
            }
            for (at, &id) in at.iter_mut().zip(pattern) {
                let all = &self.requests[id].1;
                // All that are in the ideal already are out for good.
                let known = ideal.known(Thread(self.requests[id].0.0));
                *at += all[*at..].partition_point(|request| request.before.count < known);
            }
        }
    }
}

impl Linear for SyncpDeadlocks {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        self.recorder.access(access, touched);
    }

    fn left_out(&mut self, words: u64) {
        self.dropped += words;
    }

    fn event(&mut self, event: &Event<'_>, _: Thread) {
        self.now = match event.op {
            Op::Acquire { tried: true, .. } => None,
            ref op => matches!(op.lock_change(), Some(LockChange::Acquired { .. })).then_some((event.id, event.pc)),
        };
    }

    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        if let (Sync::Acquire { lock, mode }, Some((_, pc))) = (sync, self.now.filter(|(now, _)| *now == event)) {
            let held = self.locksets.held(thread);
            if held != LocksetId::default() {
                let before = self.recorder.stamp(thread);
                self.request(Request { event, pc, before }, (thread.0, held, lock, mode == LockMode::Shared));
            }
        }
        self.recorder.sync(event, thread, sync);
        self.locksets.sync(thread, sync);
    }

    fn forget(&mut self, word: Word) {
        self.recorder.forget(word);
    }

    fn finish(&mut self) -> Candidates {
        let mut relation = Relation::default();
        let mut given_up = 0;
        let mut patterns: Vec<Vec<usize>> = Vec::new();
        for &((thread, held, lock, shared), _) in &self.requests {
            let held = self.locksets.locks(held).map(|(lock, mode)| (lock.0, mode)).collect();
            let mode = if shared { LockMode::Shared } else { LockMode::Exclusive };
            let id = relation.add(Dependency { thread, held, wanted: (lock.0, mode) });
            let mut budget = MAX_SEARCH;
            relation.cycles_through(id, &mut budget, &|_, _| true, &mut |pattern| patterns.push(pattern.to_vec()));
            given_up += u64::from(budget == 0);
        }
        patterns.sort_by_key(Vec::len);
        let left_out = patterns.len().saturating_sub(MAX_PATTERNS) as u64 + given_up;
        patterns.truncate(MAX_PATTERNS);
        let mut found = Candidates { dropped: self.dropped + left_out, ..Candidates::default() };
        for pattern in patterns {
            let Some(mut requests) = self.instance(&pattern) else { continue };
            let first = (0..pattern.len()).min_by_key(|&i| self.requests[pattern[i]].0.0).unwrap_or(0);
            requests.rotate_left(first);
            let (requests, pcs) = requests.iter().map(|request| (request.event, request.pc)).unzip();
            found.cycles.push(Cycle { requests, pcs });
        }
        found
    }
}
