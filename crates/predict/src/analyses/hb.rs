//! Happens-before races (Flanagan and Freund's FastTrack checks, over all synchronization). A pair of conflicting accesses
//! that no chain of synchronization orders in this trace. The witness is their causal past in trace order with the two
//! accesses at its end; it is feasible as long as no access in that past races itself. Misses races hidden by an order
//! that happened to be observed.
//!
//! Deviation: instead of one epoch per location, the last access of each thread and code position is kept, so that every
//! pair of code positions is reported once rather than only the first race of a location.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use reweave_model::{
    AccessFlags, Accessor, Event, EventId, Finding, Kind, Op, Pc, Schedule, Strength, ThreadId, ThreadName, Witness,
};
use reweave_trace::{Result, Trace};

use crate::{Analysis, Answer, Clock, HappensBefore};

/// Pairs beyond this are not reported: nobody reads so many.
const MAX_PAIRS: usize = 200;
/// Accesses kept per word; the oldest goes.
const MAX_KEPT: usize = 12;
/// A range longer than this only meets words that are already known.
const LONG_RANGE: u64 = 1 << 16;

pub struct Hb;

impl Analysis for Hb {
    fn name(&self) -> &'static str {
        "hb"
    }

    fn run(&self, trace: &Trace, progress: &mut dyn FnMut(f64)) -> Result<Answer> {
        let mut search = Search::default();
        let mut order = HappensBefore::default();
        let total = trace.event_count().max(1) as f64;
        let (mut events, mut seen) = (trace.events(), 0u64);
        while let Some(event) = events.next()? {
            seen += 1;
            if seen.is_multiple_of(1 << 16) {
                progress(seen as f64 / total / 2.0);
            }
            order.see(&event);
            search.access(&event, &order);
        }
        let findings =
            if search.pairs.is_empty() { Vec::new() } else { witnesses(trace, &search.in_order(), progress)? };
        Ok(Answer { findings, events: seen })
    }
}

/// One remembered access to (some bytes of) a word.
#[derive(Clone, Copy)]
struct Kept {
    step: u64,
    event: EventId,
    pc: Pc,
    thread: ThreadId,
    /// Bytes of the word.
    mask: u8,
    write: bool,
    atomic: bool,
}

#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

#[derive(Default)]
struct Search {
    words: HashMap<u64, Vec<Kept>, BuildHasherDefault<WordHasher>>,
    pairs: HashMap<(Pc, Pc), (EventId, EventId)>,
}

impl Search {
    fn access(&mut self, event: &Event<'_>, order: &HappensBefore) {
        let (addr, size, write, atomic, flags) = match event.op {
            Op::Read { addr, size, flags, .. } => (addr, u64::from(size), false, false, flags),
            Op::Write { addr, size, flags, .. } => (addr, u64::from(size), true, false, flags),
            Op::Atomic { addr, size, kind, .. } => (addr, u64::from(size), kind.writes(), true, AccessFlags(0)),
            Op::Alloc { addr, size } => return self.forget(addr.0, size),
            _ => return,
        };
        let Some(clock) = order.clock(event.thread) else { return };
        if size == 0 {
            return;
        }
        let kept = Kept {
            step: clock.get(event.thread),
            event: event.id,
            pc: event.pc,
            thread: event.thread,
            mask: 0,
            write,
            atomic,
        };
        let (first, end) = (addr.0, addr.0.saturating_add(size));
        let words = first / 8..=(end - 1) / 8;
        let mask = |word: u64| {
            let (from, to) = (first.max(word * 8) - word * 8, end.min(word * 8 + 8) - word * 8);
            (0xffu16 >> (8 - (to - from)) << from) as u8
        };
        if size > LONG_RANGE || flags.has(AccessFlags::FREE) {
            // Freed memory nobody touched cannot race; going through it all would take forever.
            if (size / 8) as usize > self.words.len() {
                let known: Vec<u64> = self.words.keys().copied().filter(|word| words.contains(word)).collect();
                known.into_iter().for_each(|word| self.word(word, Kept { mask: mask(word), ..kept }, clock));
            } else {
                let known = words.filter(|word| self.words.contains_key(word)).collect::<Vec<_>>();
                known.into_iter().for_each(|word| self.word(word, Kept { mask: mask(word), ..kept }, clock));
            }
            return;
        }
        for word in words {
            self.word(word, Kept { mask: mask(word), ..kept }, clock);
        }
    }

    fn word(&mut self, word: u64, new: Kept, clock: &Clock) {
        let list = self.words.entry(word).or_default();
        let mut same = None;
        let mut ordered = true;
        for (i, old) in list.iter().enumerate() {
            if old.thread == new.thread {
                if old.pc == new.pc && old.write == new.write && old.mask == new.mask {
                    same = Some(i);
                }
                continue;
            }
            if old.step <= clock.get(old.thread) {
                continue;
            }
            ordered = false;
            let conflict = (old.write || new.write) && !(old.atomic && new.atomic) && old.mask & new.mask != 0;
            if conflict && self.pairs.len() < MAX_PAIRS {
                let key = if old.pc <= new.pc { (old.pc, new.pc) } else { (new.pc, old.pc) };
                self.pairs.entry(key).or_insert((old.event, new.event));
            }
        }
        if new.write && ordered && new.mask == 0xff && list.len() > 1 {
            // Everything before is ordered before this write: what races with it later races with this too.
            list.clear();
            list.push(new);
            return;
        }
        match same {
            Some(i) => list[i] = new,
            None => {
                if list.len() >= MAX_KEPT {
                    list.remove(0);
                }
                list.push(new);
            }
        }
    }

    /// A new object: what was there before is another location.
    fn forget(&mut self, addr: u64, size: u64) {
        let words = addr / 8..addr.saturating_add(size).div_ceil(8);
        if (size / 8) as usize > self.words.len() {
            self.words.retain(|word, _| !words.contains(word));
        } else {
            words.for_each(|word| drop(self.words.remove(&word)));
        }
    }

    fn in_order(&self) -> Vec<(EventId, EventId)> {
        let mut pairs: Vec<_> = self.pairs.values().copied().collect();
        pairs.sort_by_key(|&(first, second)| (second, first));
        pairs
    }
}

/// Goes through the trace once more for the clocks at the accesses, then cuts the schedule of the trace for each pair.
fn witnesses(trace: &Trace, pairs: &[(EventId, EventId)], progress: &mut dyn FnMut(f64)) -> Result<Vec<Finding>> {
    let wanted: HashSet<EventId> = pairs.iter().flat_map(|&(first, second)| [first, second]).collect();
    let last = wanted.iter().max().copied().unwrap_or_default();
    let mut found: HashMap<EventId, (Accessor, Clock)> = HashMap::new();
    let mut order = HappensBefore::default();
    let mut schedule = Schedule { threads: vec![ThreadName::MAIN], segments: Vec::new() };
    let mut indices = HashMap::from([(ThreadId(0), ThreadId(0))]);
    let mut foreign = 0;
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.id > last {
            break;
        }
        if event.id.0.is_multiple_of(1 << 16) {
            progress(0.5 + event.id.0 as f64 / (last.0 + 1) as f64 / 2.0);
        }
        order.see(&event);
        let index = *indices.entry(event.thread).or_insert_with(|| {
            schedule.threads.push(ThreadName { parent: 0, nth: ThreadName::FOREIGN | foreign });
            foreign += 1;
            ThreadId(schedule.threads.len() as u32 - 1)
        });
        if let Op::Fork { child, nth } = event.op {
            indices.insert(child, ThreadId(schedule.threads.len() as u32));
            schedule.threads.push(ThreadName { parent: index.0, nth });
        }
        if event.op.is_step() {
            schedule.push(index, 1);
        } else if event.op == Op::Revoked
            && let Some(segment) = schedule.segments.last_mut().filter(|segment| segment.thread == index)
        {
            segment.revoked = true;
        }
        if wanted.contains(&event.id) {
            let accessor = Accessor {
                event: event.id,
                thread: event.thread,
                pc: event.pc,
                stack: event.stack,
                op: operation(&event.op).to_owned(),
                locks_held: order.held(event.thread),
            };
            let clock = order.clock(event.thread).cloned().unwrap_or_default();
            found.insert(event.id, (accessor, clock));
        }
    }
    let by_index: HashMap<ThreadId, ThreadId> = indices.iter().map(|(&thread, &index)| (index, thread)).collect();
    let findings = pairs.iter().filter_map(|(first, second)| {
        let ((one, one_clock), (two, two_clock)) = (found.get(first)?, found.get(second)?);
        let mut past = one_clock.clone();
        past.join(two_clock);
        past.set(one.thread, one_clock.get(one.thread) - 1);
        past.set(two.thread, two_clock.get(two.thread) - 1);
        let mut witness = prefix(&schedule, |index| by_index.get(&index).map_or(0, |&thread| past.get(thread)));
        witness.push(indices[&one.thread], 1);
        witness.push(indices[&two.thread], 1);
        Some(Finding {
            kind: Kind::Race,
            strength: Strength::Potential,
            analysis: "hb",
            accesses: vec![one.clone(), two.clone()],
            witness: Some(Witness { schedule: witness }),
        })
    });
    Ok(findings.collect())
}

/// The schedule with every thread cut to so many steps.
fn prefix(schedule: &Schedule, steps: impl Fn(ThreadId) -> u64) -> Schedule {
    let mut out = Schedule { threads: schedule.threads.clone(), segments: Vec::new() };
    let mut left: Vec<u64> = (0..schedule.threads.len()).map(|i| steps(ThreadId(i as u32))).collect();
    for segment in &schedule.segments {
        let left = &mut left[segment.thread.index()];
        let taken = u64::from(segment.steps).min(*left);
        *left -= taken;
        if taken > 0 {
            out.push(segment.thread, taken as u32);
            if segment.revoked
                && taken == u64::from(segment.steps)
                && let Some(last) = out.segments.last_mut()
            {
                last.revoked = true;
            }
        }
    }
    out
}

fn operation(op: &Op<'_>) -> &'static str {
    match op {
        Op::Read { .. } => "read",
        Op::Write { flags, .. } if flags.has(AccessFlags::FREE) => "free",
        Op::Write { .. } => "write",
        Op::Atomic { kind, .. } if !kind.writes() => "atomic load",
        Op::Atomic { kind, .. } if !kind.reads() => "atomic store",
        Op::Atomic { .. } => "atomic update",
        _ => "access",
    }
}
