//! What critical code of one thread wrote and that of another one read: there the order of the two is no chance.
//!
//! In which order a mutex was taken orders nothing by itself. But who reads, holding it, what somebody wrote who held
//! it before, goes on as it does because of that: a flag that says that something is ready, say.

use std::collections::HashMap;
use std::sync::Mutex;

use super::{acquire, listening, quietly, release, strand};
use crate::ids::Object;

/// Pieces of memory that are remembered for one critical section, and sections for one mutex.
const WRITES: usize = 64;
const SECTIONS: usize = 256;
/// Marks the object that carries the order.
const MARK: u64 = 1 << 60;

struct Written {
    strand: u32,
    lo: u64,
    hi: u64,
}

/// A critical section that has not ended.
struct Open {
    mutex: u64,
    writes: Vec<(u64, u64)>,
}

#[derive(Default)]
struct Sections {
    /// By strand.
    open: HashMap<u32, Vec<Open>>,
    /// By mutex: what was written by those who held it.
    done: HashMap<u64, Vec<Written>>,
}

static SECTIONS_OF: Mutex<Option<Sections>> = Mutex::new(None);

fn sections<T>(body: impl FnOnce(&mut Sections) -> T) -> T {
    body(SECTIONS_OF.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert_default())
}

/// A mutex was taken.
pub fn begin(mutex: u64) {
    let own = strand();
    sections(|sections| sections.open.entry(own).or_default().push(Open { mutex, writes: Vec::new() }));
}

/// A mutex is about to be given back.
pub fn end(mutex: u64) {
    let own = strand();
    let wrote = sections(|sections| {
        let open = sections.open.get_mut(&own)?;
        let place = open.iter().rposition(|section| section.mutex == mutex)?;
        let Open { writes, .. } = open.remove(place);
        if writes.is_empty() {
            return None;
        }
        let done = sections.done.entry(mutex).or_default();
        for (lo, hi) in writes {
            done.retain(|earlier| (earlier.lo, earlier.hi) != (lo, hi));
            done.push(Written { strand: own, lo, hi });
        }
        let excess = done.len().saturating_sub(SECTIONS);
        done.drain(..excess);
        Some(())
    });
    if wrote.is_some() {
        release(Object(mutex | MARK));
    }
}

/// A load or store of a thread.
pub fn touch(address: u64, len: u64, write: bool) {
    if listening() {
        quietly(|| touched(address, len, write));
    }
}

fn touched(address: u64, len: u64, write: bool) {
    let own = strand();
    let (lo, hi) = (address, address + len);
    let saw = sections(|sections| {
        let Some(open) = sections.open.get_mut(&own).filter(|open| !open.is_empty()) else { return Vec::new() };
        if write {
            for Open { writes, .. } in open.iter_mut() {
                if writes.len() < WRITES && !writes.contains(&(lo, hi)) {
                    writes.push((lo, hi));
                }
            }
            return Vec::new();
        }
        let others = |mutex: &u64| {
            let done = sections.done.get(mutex).into_iter().flatten();
            done.into_iter().any(|written| written.strand != own && lo < written.hi && written.lo < hi)
        };
        open.iter().map(|section| section.mutex).filter(others).collect()
    });
    saw.into_iter().for_each(|mutex| acquire(Object(mutex | MARK)));
}
