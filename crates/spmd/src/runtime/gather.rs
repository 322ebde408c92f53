//! Loads and stores on their way into the log: what one statement touches between two calls is put together.
//!
//! Between two calls of a strand its loads and stores are at one moment, so neighbouring ones of a statement can be one
//! entry, and what it touches again need not be said again: a loop that polls costs nothing. Chapter 7.1 of the paper
//! gathers likewise; strides are left as they are.

use std::collections::HashSet;

use super::quick::Map;
use crate::event::{Event, Place};
use crate::ids::{Rank, Site};

/// Who touches whose memory, and how.
type Who = (Site, Rank, bool);

/// Entries that are remembered between two calls, so as not to be said twice.
const REMEMBERED: usize = 1 << 16;
/// Bytes of one entry.
const LARGEST: u64 = 1 << 30;

#[derive(Clone, Copy)]
struct Run {
    /// Where it begins, in the owner's terms, and as an address of this process.
    place: Place,
    lo: u64,
    hi: u64,
}

/// The loads and stores of one strand since its last call.
#[derive(Default)]
pub struct Gather {
    open: Map<Who, Run>,
    said: HashSet<(Who, u64, u64)>,
}

impl Gather {
    /// Takes a load or store; returns what has to be logged for it.
    pub fn take(&mut self, who: Who, place: Place, address: u64, len: u64) -> Option<(Site, Event)> {
        let (lo, hi) = (address, address + len);
        let Some(run) = self.open.get_mut(&who) else {
            self.open.insert(who, Run { place, lo, hi });
            return None;
        };
        if run.lo <= lo && hi <= run.hi {
            return None;
        }
        if lo == run.hi && hi - run.lo < LARGEST {
            run.hi = hi;
            return None;
        }
        if hi == run.lo && run.hi - lo < LARGEST {
            (run.place, run.lo) = (place, lo);
            return None;
        }
        let ended = std::mem::replace(run, Run { place, lo, hi });
        self.say(who, ended)
    }

    fn say(&mut self, who: Who, run: Run) -> Option<(Site, Event)> {
        let fresh = self.said.len() >= REMEMBERED || self.said.insert((who, run.lo, run.hi));
        let (site, owner, write) = who;
        fresh.then(|| (site, Event::Local { owner, place: run.place, len: (run.hi - run.lo) as u32, write }))
    }

    /// Was nothing touched since the last call?
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A call follows: everything that is left.
    pub fn flush(&mut self) -> Vec<(Site, Event)> {
        let mut open: Vec<(Who, Run)> = self.open.drain().collect();
        // In one order in every run.
        open.sort_by_key(|(who, run)| (*who, run.lo));
        let all = open.into_iter().filter_map(|(who, run)| self.say(who, run)).collect();
        self.said.clear();
        all
    }
}
