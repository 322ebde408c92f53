//! Who saw what somebody wrote: order that follows from values (R17, and *Values* of the definition).
//!
//! A wait that was satisfied comes after the update that satisfied it. Where several updates could
//! have, SHMEM's waits come after all of them: that is too much order, and counted. Of other reads the
//! writer is believed only if it is the only one that is known to have written that value; what rests
//! on several possible writers orders *possibly*, and a race that only such order denies is potential.
//! A write that comes after the read by everything else that is known was not seen by it.

use std::collections::HashMap;

use crate::access::ContextOrder;
use crate::event::{Comparison, Place};
use crate::ids::{Moment, Rank};
use crate::order::Order;

/// A single element that was written.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    pub owner: Rank,
    pub place: Place,
    /// When the operation was issued.
    pub moment: Moment,
    /// What is there afterwards, if that does not depend on what was there before.
    pub value: Option<u64>,
    pub ordered: Option<ContextOrder>,
    pub shmem: bool,
}

/// A single element that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    pub owner: Rank,
    pub place: Place,
    /// When the value was there.
    pub moment: Moment,
    pub what: What,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum What {
    Condition(Comparison, i64),
    Value(u64),
}

impl Seen {
    pub fn condition(owner: Rank, place: Place, moment: Moment, comparison: Comparison, wanted: i64) -> Seen {
        Seen { owner, place, moment, what: What::Condition(comparison, wanted) }
    }

    pub fn value(owner: Rank, place: Place, moment: Moment, value: u64) -> Seen {
        Seen { owner, place, moment, what: What::Value(value) }
    }
}

/// A write and a read that saw it.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    pub written: Written,
    pub seen: Moment,
}

#[derive(Clone, Default, Debug)]
pub struct Links {
    pub certain: Vec<Link>,
    /// One of several, nobody knows which.
    pub possible: Vec<Link>,
    /// Waits that several updates could have satisfied.
    pub ambiguous_waits: usize,
}

/// Finds who saw what. `order`: what is known without values.
pub fn links<'a>(
    order: &Order,
    written: impl IntoIterator<Item = &'a Written>,
    seen: impl IntoIterator<Item = &'a Seen>,
) -> Links {
    let mut by_word: HashMap<(Rank, Place), Vec<&Written>> = HashMap::new();
    for write in written {
        by_word.entry((write.owner, write.place)).or_default().push(write);
    }
    let mut links = Links::default();
    for seen in seen {
        let Some(writes) = by_word.get(&(seen.owner, seen.place)) else { continue };
        let writes: Vec<&Written> =
            writes.iter().copied().filter(|write| !order.before(seen.moment, write.moment)).collect();
        let link = |write: &&Written| Link { written: (*write).clone(), seen: seen.moment };
        match seen.what {
            What::Condition(comparison, wanted) => {
                let could = |write: &&&Written| {
                    write.moment.strand.rank != seen.moment.strand.rank
                        && write.value.is_none_or(|value| comparison.holds(value as i64, wanted))
                };
                let satisfying: Vec<Link> = writes.iter().filter(could).map(link).collect();
                links.ambiguous_waits += usize::from(satisfying.len() > 1);
                links.certain.extend(satisfying);
            }
            What::Value(value) => {
                let other = |write: &&&Written| write.moment.strand != seen.moment.strand;
                let could: Vec<&&Written> =
                    writes.iter().filter(|write| write.value.is_none_or(|written| written == value)).collect();
                let known = could.iter().all(|write| write.value.is_some());
                // Memory starts with zeros: zero has a writer too many.
                if let ([only], true, true) = (&could[..], known, value != 0) {
                    links.certain.extend(Some(*only).filter(other).map(link));
                } else {
                    links.possible.extend(could.into_iter().filter(other).map(link));
                }
            }
        }
    }
    links
}
