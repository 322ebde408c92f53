//! What a run must show for a violation of a block that nobody declared: its accesses in their order, each thread's in
//! one go.

use std::collections::BTreeMap;

use reweave_model::{EventId, ThreadId};
use reweave_trace::Trace;

use super::Occurrence;
use super::goal::{address, scan};
use crate::names::Code;
use reweave_launch::Result;

/// One of the accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WantedAccess {
    pub code: Code,
    /// Who makes it, and where, numbered as they come.
    pub thread: u32,
    pub memory: Option<u32>,
}

/// A match of accesses on its way.
#[derive(Clone)]
struct Match {
    found: Vec<(EventId, Option<u64>)>,
    /// By number.
    threads: Vec<ThreadId>,
    /// Steps of the run before the first one.
    steps: u64,
}

impl Match {
    /// Whether the next access may be at this address.
    fn is_at(&self, wanted: &[WantedAccess], address: Option<u64>) -> bool {
        let memory = wanted[self.found.len()].memory;
        let same = wanted.iter().zip(&self.found).filter(|(other, _)| memory.is_some() && other.memory == memory);
        same.into_iter().all(|(_, (_, other))| *other == address)
    }

    fn with(&self, event: EventId, address: Option<u64>) -> Self {
        let mut longer = self.clone();
        longer.found.push((event, address));
        longer
    }
}

/// Whether the accesses come in this order, by threads and at memory as numbered. Those of one thread belong together:
/// it is not at one of its places out of turn before it has come to the last of them.
pub fn interleaved(trace: &Trace, wanted: &[WantedAccess]) -> Result<Option<Occurrence>> {
    // The last match of each length and by the same threads: who begins anew begins another one.
    let mut open: BTreeMap<(usize, Vec<ThreadId>), Match> = BTreeMap::new();
    scan(trace, |event, names, steps| {
        let code = names.code(event.pc);
        if !event.op.is_step() || !wanted.iter().any(|access| access.code == code) {
            return None;
        }
        let address = address(&event.op).map(|addr| addr.0);
        let mut matches: Vec<Match> = Vec::new();
        for one in std::mem::take(&mut open).into_values() {
            let next = wanted[one.found.len()];
            let who = one.threads.iter().position(|thread| *thread == event.thread).map(|number| number as u32);
            let is_next = next.code == code && one.is_at(wanted, address);
            match who {
                Some(number) => {
                    let of_it = |access: &&WantedAccess| access.thread == number;
                    let over = !wanted[one.found.len()..].iter().any(|access| of_it(&access));
                    if is_next && next.thread == number {
                        matches.push(one.with(event.id, address));
                    } else if over || !wanted.iter().filter(of_it).any(|access| access.code == code) {
                        matches.push(one);
                    }
                }
                None if is_next && next.thread as usize == one.threads.len() => {
                    let mut longer = one.with(event.id, address);
                    longer.threads.push(event.thread);
                    // It may also be a later one.
                    matches.extend([one, longer]);
                }
                None => matches.push(one),
            }
        }
        if wanted[0].code == code {
            matches.push(Match { found: vec![(event.id, address)], threads: vec![event.thread], steps });
        }
        if let Some(whole) = matches.iter().find(|one| one.found.len() == wanted.len()) {
            let events = whole.found.iter().map(|(event, _)| Some(*event)).collect();
            return Some(Occurrence { first: wanted[0].code, steps_before: whole.steps, events });
        }
        open = matches.into_iter().map(|one| ((one.found.len(), one.threads.clone()), one)).collect();
        None
    })
}

#[cfg(test)]
mod tests {
    use reweave_model::{AccessFlags, Addr, Op, Pc, Value};
    use reweave_trace::TraceBuilder;

    use super::*;

    const READ: u64 = 0x1010;
    const WRITE: u64 = 0x1020;
    const X: u64 = 0x9000;
    const Y: u64 = 0x9008;

    /// Accesses of threads at code, to memory.
    fn trace(accesses: &[(u32, u64, u64)]) -> Trace {
        let mut builder = TraceBuilder::default();
        let module = Op::Module { base: Addr(0x1000), size: 0x1000, bias: 0x1000, path: b"a.out" };
        builder.push(ThreadId(0), Pc(0), module).expect("in memory");
        for &(thread, pc, addr) in accesses {
            let (addr, size, value, flags) = (Addr(addr), 4, Value::Word(0), AccessFlags::default());
            let op =
                if pc == READ { Op::Read { addr, size, value, flags } } else { Op::Write { addr, size, value, flags } };
            builder.push(ThreadId(thread), Pc(pc), op).expect("in memory");
        }
        builder.into_trace().expect("in memory")
    }

    /// The accesses that are found, counted from 1.
    fn found(accesses: &[(u32, u64, u64)], wanted: &[(u32, u64)]) -> Option<Vec<u64>> {
        let module = reweave_model::module_id(b"a.out");
        let code = |pc: u64| Code { module, offset: pc - 0x1000 };
        let wanted: Vec<WantedAccess> =
            wanted.iter().map(|&(thread, pc)| WantedAccess { code: code(pc), thread, memory: Some(0) }).collect();
        let shown = interleaved(&trace(accesses), &wanted).expect("in memory")?;
        Some(shown.events.into_iter().map(|event| event.expect("all of them").0).collect())
    }

    /// Both read, both write.
    const LOST: [(u32, u64); 4] = [(0, READ), (1, READ), (0, WRITE), (1, WRITE)];

    #[test]
    fn accesses_of_a_thread_are_of_one_round() {
        // T2 goes round its loop between the accesses of T1: only its second round has the pattern.
        let run = [(1, READ, X), (2, READ, X), (2, WRITE, X), (2, READ, X), (1, WRITE, X), (2, WRITE, X)];
        assert_eq!(found(&run, &LOST), Some(vec![1, 4, 5, 6]));
        let run = [(1, READ, X), (2, READ, X), (2, WRITE, X), (1, WRITE, X), (2, READ, X), (2, WRITE, X)];
        assert_eq!(found(&run, &LOST), None);
    }

    #[test]
    fn who_is_done_may_go_on() {
        let wanted = [(0, READ), (1, READ), (1, WRITE), (0, WRITE)];
        let run = [(1, READ, X), (2, READ, X), (2, WRITE, X), (2, READ, X), (1, WRITE, X), (2, WRITE, X)];
        assert_eq!(found(&run, &wanted), Some(vec![1, 2, 3, 5]));
    }

    #[test]
    fn whoever_comes_in_between_is_at_the_same_memory() {
        let wanted = [(0, READ), (1, WRITE), (0, WRITE)];
        assert_eq!(found(&[(1, READ, X), (2, WRITE, Y), (1, WRITE, X)], &wanted), None);
        let run = [(1, READ, X), (2, WRITE, Y), (3, WRITE, X), (1, WRITE, X)];
        assert_eq!(found(&run, &wanted), Some(vec![1, 3, 4]));
    }
}
