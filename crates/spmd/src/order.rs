//! Happens-before over strands, computed from what the ranks logged about synchronization.
//!
//! Vector clocks (Mattern 1989) over the strands that synchronized. Exact for the edges it is given;
//! it knows nothing of what they stand for. Deviation from the usual presentation: a clock is kept
//! only where it changed by something other than the strand's own steps, because the strand's own
//! entry is always "up to here".
//!
//! Deliberately absent: the order in which locks were taken (R5, R19), the order of messages that the
//! program did not wait for.

use std::collections::HashMap;

use crate::event::Collective;
use crate::ids::{Communicator, Moment, Rank, Strand, Window};

/// One thing that some ranks bring about and others wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Channel {
    /// The n-th message of (communicator, from, to, tag).
    Message {
        communicator: Communicator,
        from: Rank,
        to: Rank,
        tag: i32,
        number: u32,
    },
    /// That message was taken: what a synchronous send waits for.
    Taken {
        communicator: Communicator,
        from: Rank,
        to: Rank,
        tag: i32,
        number: u32,
    },
    /// Entering a collective operation; what one rank brings to those that wait for it alone.
    Entered(Collective),
    EnteredBy(Collective, Rank),
    EnteredFor(Collective, Rank, Rank),
    Fence(Window, u32),
    /// `MPI_Win_complete` number n of `origin` towards `target`.
    Completed {
        window: Window,
        origin: Rank,
        target: Rank,
        number: u32,
    },
    /// Something inside one rank: the n-th release.
    Inside(Rank, u32),
    /// A write that somebody saw (R17): the n-th that was found.
    Seen(u32),
}

/// An entry of a rank's synchronization log.
#[derive(Clone, PartialEq, Debug)]
pub struct Sync {
    pub moment: Moment,
    pub brings: Vec<Channel>,
    /// With how many have to bring it.
    pub awaits: Vec<(Channel, u32)>,
    /// It takes the order out of this channel: a fence with `MPI_MODE_NOPRECEDE` (R3).
    pub voids: Option<Channel>,
}

#[derive(Default)]
struct Brought {
    times: u32,
    clock: Vec<u32>,
}

struct Lane<'a> {
    log: Vec<&'a Sync>,
    next: usize,
    clock: Vec<u32>,
    // invariant: sorted by `at`
    changes: Vec<(u32, Vec<u32>)>,
}

/// The relation.
pub struct Order {
    numbers: HashMap<Strand, usize>,
    /// By strand: when its clock changed, and to what. `clock[s]`: the last moment of strand `s` that
    /// comes before.
    changes: Vec<Vec<(u32, Vec<u32>)>>,
    /// Times that the logs contradicted themselves: there, less is ordered.
    pub incomplete: usize,
}

impl Order {
    /// The order that the logs make. Entries of one strand are in its order; strands in any.
    pub fn new<'a>(logs: impl IntoIterator<Item = &'a Sync>) -> Order {
        let mut numbers: HashMap<Strand, usize> = HashMap::new();
        let mut lanes: Vec<Lane<'a>> = Vec::new();
        let mut voided = std::collections::HashSet::new();
        for entry in logs {
            let number = *numbers.entry(entry.moment.strand).or_insert(lanes.len());
            if number == lanes.len() {
                lanes.push(Lane { log: Vec::new(), next: 0, clock: Vec::new(), changes: Vec::new() });
            }
            lanes[number].log.push(entry);
            voided.extend(entry.voids);
        }
        for lane in &mut lanes {
            lane.log.sort_by_key(|entry| entry.moment.at);
            lane.clock = vec![0; numbers.len()];
        }
        let mut brought: HashMap<Channel, Brought> = HashMap::new();
        let mut available: HashMap<Channel, u32> = HashMap::new();
        for channel in lanes.iter().flat_map(|lane| &lane.log).flat_map(|entry| &entry.brings) {
            *available.entry(*channel).or_default() += 1;
        }
        let mut incomplete = 0;
        loop {
            let mut moved = false;
            for number in 0..lanes.len() {
                while step(&mut lanes, number, &mut brought, &available, &voided, false) {
                    moved = true;
                }
            }
            if moved {
                continue;
            }
            // Logs that no run left: let the first one that waits go on with what there is.
            let Some(stuck) = (0..lanes.len()).find(|&number| lanes[number].next < lanes[number].log.len()) else {
                break;
            };
            incomplete += 1;
            step(&mut lanes, stuck, &mut brought, &available, &voided, true);
        }
        Order { numbers, changes: lanes.into_iter().map(|lane| lane.changes).collect(), incomplete }
    }

    /// The strands that synchronized, each with its place in clocks.
    pub(crate) fn strands(&self) -> impl Iterator<Item = (Strand, usize)> {
        self.numbers.iter().map(|(strand, number)| (*strand, *number))
    }

    /// What comes before a moment: the last moment of each strand, by its place in clocks.
    pub(crate) fn clock_at(&self, moment: Moment) -> &[u32] {
        let Some(&lane) = self.numbers.get(&moment.strand) else { return &[] };
        let changes = &self.changes[lane];
        let known = changes.partition_point(|(at, _)| *at <= moment.at);
        if known == 0 { &[] } else { &changes[known - 1].1 }
    }

    /// Does `first` come before `second`, or are they the same moment?
    pub fn before(&self, first: Moment, second: Moment) -> bool {
        if first.strand == second.strand {
            return first.at <= second.at;
        }
        let (Some(&from), Some(&to)) = (self.numbers.get(&first.strand), self.numbers.get(&second.strand)) else {
            return false;
        };
        let changes = &self.changes[to];
        let known = changes.partition_point(|(at, _)| *at <= second.at);
        known > 0 && changes[known - 1].1[from] >= first.at
    }
}

/// Takes the lane's next entry if what it waits for is there. Returns whether it did.
fn step(
    lanes: &mut [Lane<'_>],
    number: usize,
    brought: &mut HashMap<Channel, Brought>,
    available: &HashMap<Channel, u32>,
    voided: &std::collections::HashSet<Channel>,
    force: bool,
) -> bool {
    let lane = &mut lanes[number];
    let Some(&entry) = lane.log.get(lane.next) else { return false };
    // What is not in the logs at all came before them (an earlier phase), or its rank was killed.
    let ready = |(channel, times): &(Channel, u32)| {
        let wanted = available.get(channel).map_or(0, |available| *times.min(available));
        voided.contains(channel) || brought.get(channel).map_or(0, |brought| brought.times) >= wanted
    };
    if !force && !entry.awaits.iter().all(ready) {
        return false;
    }
    let mut changed = false;
    for (channel, _) in entry.awaits.iter().filter(|(channel, _)| !voided.contains(channel)) {
        if let Some(brought) = brought.get(channel) {
            changed |= join(&mut lane.clock, &brought.clock);
        }
    }
    lane.clock[number] = entry.moment.at;
    if changed {
        lane.changes.push((entry.moment.at, lane.clock.clone()));
    }
    for channel in &entry.brings {
        let brought = brought.entry(*channel).or_default();
        brought.times += 1;
        brought.clock.resize(lane.clock.len(), 0);
        join(&mut brought.clock, &lane.clock);
    }
    lane.next += 1;
    true
}

fn join(into: &mut [u32], from: &[u32]) -> bool {
    let mut changed = false;
    for (into, from) in into.iter_mut().zip(from) {
        if from > into {
            *into = *from;
            changed = true;
        }
    }
    changed
}
