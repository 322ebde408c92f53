//! Findings that are one bug to people, by what causes them: what races on two lines also tears the block around them
//! apart, and ends runs the same way; an object that is published before it is filled in races in each of its fields;
//! whatever uses freed memory follows from where it was freed. A report keeps all of them; who reads it is told of the
//! strongest in full, and of the others in a line each. Nothing is left out, and nothing is decided: two bugs in the
//! same place are told together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use reweave_model::{Harm, Kind, Novelty, OpName};

use crate::data::{AccessItem, Bug, Item, Operation};
use crate::memory::MemoryItem;
use crate::pattern::Pattern;

/// Why a finding is shown with another finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// It is about the same lines.
    Lines,
    /// It is about the same memory.
    Memory,
    /// It uses what is freed at the same place.
    Freed,
    /// One is about a pointer, the other about what it points to.
    HandedOver,
    /// Its run ended the same way.
    Outcome,
}

/// The first of each group has the word.
#[derive(Clone, PartialEq, Debug)]
pub struct Group<'a> {
    pub lead: &'a Item,
    pub others: Vec<(&'a Item, Relation)>,
}

impl<'a> Group<'a> {
    pub fn items(&self) -> impl Iterator<Item = &'a Item> {
        std::iter::once(self.lead).chain(self.others.iter().map(|(item, _)| *item))
    }

    /// It is only that a block which nobody declared ran with other results: a counter differs, nothing fails.
    pub fn is_minor(&self) -> bool {
        let minor = |item: &Item| {
            item.block == Some(reweave_model::BlockSource::Inferred)
                && item.harm.is_none_or(|harm| matches!(harm, Harm::OtherOutput | Harm::Nothing))
        };
        self.items().all(minor)
    }
}

/// Findings beyond this are not compared with each other: nobody reads so many.
const MOST: usize = 2000;

/// Puts findings together, the strongest of each group first if they come that way.
pub fn groups<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<Group<'a>> {
    let items: Vec<&Item> = items.into_iter().collect();
    let sides: Vec<Side<'_>> = items.iter().take(MOST).map(|item| Side::of(item)).collect();
    // That a run failed follows from what made it fail, but two bugs can end alike: it joins one group.
    let is_cause = |at: &usize| items[*at].kind != Kind::Failure || !sides[*at].freed.is_empty();
    let (causes, follows): (Vec<usize>, Vec<usize>) = (0..sides.len()).partition(is_cause);
    // What each belongs to: the first of its group.
    let mut first: Vec<usize> = (0..items.len()).collect();
    for (n, &at) in causes.iter().enumerate() {
        let related = causes[..n].iter().filter(|&&other| sides[other].cause(&sides[at]).is_some());
        let mut together: BTreeSet<usize> = related.map(|&other| first[other]).collect();
        together.insert(at);
        // Two groups may turn out to be one.
        let lead = *together.first().expect("itself at least");
        first.iter_mut().filter(|group| together.contains(group)).for_each(|group| *group = lead);
    }
    for &at in &follows {
        let all = causes.iter().chain(follows.iter().filter(|&&other| other < at));
        let related = all.filter(|&&other| sides[other].relation(&sides[at]).is_some());
        // A failure that the strongest finding is keeps the word, unless something explains it.
        first[at] = related.map(|&other| first[other]).min().unwrap_or(at);
    }
    gather(&items, &sides, &first)
}

/// `first` says which group each belongs to.
fn gather<'a>(items: &[&'a Item], sides: &[Side<'a>], first: &[usize]) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, &lead) in first.iter().enumerate() {
        groups.entry(lead).or_default().push(at);
    }
    let group = |members: Vec<usize>| {
        let why = |n: usize| members[..n].iter().find_map(|&before| sides[before].relation(&sides[members[n]]));
        let others = (1..members.len()).map(|n| (items[members[n]], why(n).unwrap_or(Relation::HandedOver))).collect();
        Group { lead: items[members[0]], others }
    };
    groups.into_values().map(group).collect()
}

/// All findings, as a page shows them: the strongest first, what is one bug to people together. What is suppressed or
/// known stands apart, so that nothing new hides behind it, and so does what is merely potential beside what is sure,
/// and what is no defect.
pub fn folded(items: &[Item]) -> Vec<Group<'_>> {
    let state = |item: &Item| match (&item.suppressed, item.baseline) {
        (Some(_), _) => 2,
        (None, Some(Novelty::Known)) => 1,
        _ => 0,
    };
    let apart = |item: &Item| (state(item), item.is_information(), !item.is_proven());
    let mut kinds: Vec<_> = items.iter().map(apart).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut all = Vec::new();
    for kind in kinds {
        let mut some: Vec<&Item> = items.iter().filter(|item| apart(item) == kind).collect();
        some.sort_by_key(|item| Reverse(item.strength));
        all.extend(groups(some));
    }
    all
}

/// The defects of a report, each once.
pub fn bugs(items: &[Item]) -> Vec<Bug> {
    let bug = |group: &Group<'_>| Bug {
        summary: group.lead.summary.clone(),
        fingerprint: group.lead.fingerprint.clone(),
        pattern: Pattern::of(group),
        findings: group.items().map(|item| item.id).collect(),
    };
    folded(items).iter().filter(|group| !group.lead.is_information()).map(bug).collect()
}

/// Whether somebody who knows of `lead` needs no block about `other`.
pub fn relation(lead: &Item, other: &Item) -> Option<Relation> {
    Side::of(lead).relation(&Side::of(other))
}

/// A finding, and what it is compared by.
struct Side<'a> {
    item: &'a Item,
    lines: BTreeSet<(&'a str, u32)>,
    memory: BTreeSet<&'a MemoryItem>,
    functions: BTreeSet<&'a str>,
    /// Where memory is freed that it uses.
    freed: BTreeSet<(&'a str, u32)>,
}

impl<'a> Side<'a> {
    fn of(item: &'a Item) -> Self {
        let line = |access: &'a AccessItem| (access.location.file.as_str(), access.location.line);
        let known = || item.accesses.iter().filter(|access| access.location.line != 0);
        Self {
            item,
            lines: known().map(line).collect(),
            memory: item.accesses.iter().filter_map(|access| access.memory.as_ref()).collect(),
            functions: item.accesses.iter().map(|access| access.location.function.as_str()).collect(),
            freed: known().filter(|access| access.op == Operation::from(OpName::Free)).map(line).collect(),
        }
    }

    fn fails(&self) -> bool {
        self.item.harm.is_some_and(|harm| harm != Harm::Nothing)
    }

    fn hangs(&self) -> bool {
        self.item.harm == Some(Harm::Hang)
    }

    fn is_about_memory(&self) -> bool {
        matches!(self.item.kind, Kind::Race | Kind::Atomicity)
    }

    fn relation(&self, other: &Self) -> Option<Relation> {
        if let Some(relation) = self.cause(other) {
            return Some(relation);
        }
        let (one, two) = (self.item, other.item);
        let ends_alike = one.facts.ended.is_some() && one.facts.ended == two.facts.ended;
        let same_end = two.kind == Kind::Failure && one.kind != Kind::Failure && self.fails() && ends_alike;
        same_end.then_some(Relation::Outcome)
    }

    /// Whether the two have the same cause, as far as places and memory say.
    fn cause(&self, other: &Self) -> Option<Relation> {
        if self.has_lines_of(other) {
            return Some(Relation::Lines);
        }
        if self.fails_by_the_block_of(other) {
            return Some(Relation::Outcome);
        }
        // Thousands of findings are compared in pairs: what most have none of is not looked through.
        if !self.freed.is_empty() && !self.freed.is_disjoint(&other.freed) {
            return Some(Relation::Freed);
        }
        if !self.is_about_memory() || !other.is_about_memory() {
            return None;
        }
        // Who takes a pointer away and frees what it points to does both too early, or too late.
        let frees = !self.freed.is_empty() || !other.freed.is_empty();
        if frees && self.functions == other.functions {
            return Some(Relation::Freed);
        }
        if self.memory.is_empty() || other.memory.is_empty() {
            return None;
        }
        // Fields of an object that the same code uses without protection lack the same protection.
        let share_function = || !self.functions.is_disjoint(&other.functions);
        let same = |a: &MemoryItem, b: &MemoryItem| {
            a.object == b.object && (a.part == b.part || a.allocated && share_function())
        };
        let points = |a: &MemoryItem, b: &MemoryItem| b.allocated && a.holds.as_ref() == Some(&b.object);
        let any = |is: &dyn Fn(&MemoryItem, &MemoryItem) -> bool| {
            self.memory.iter().any(|a| other.memory.iter().any(|b| is(a, b)))
        };
        if any(&same) {
            return Some(Relation::Memory);
        }
        // Whoever gets the pointer too early, or too late, uses everything behind it so.
        (any(&points) || any(&|a, b| points(b, a))).then_some(Relation::HandedOver)
    }

    /// Whether both runs tore the same block apart and failed the same way: by which accesses matters less.
    fn fails_by_the_block_of(&self, other: &Self) -> bool {
        let (one, two) = (self.item, other.item);
        let torn = one.kind == Kind::Atomicity && two.kind == Kind::Atomicity;
        let same_block = one.block_at.is_some() && one.block_at == two.block_at;
        torn && same_block && self.fails() && one.facts.ended.is_some() && one.facts.ended == two.facts.ended
    }

    fn has_lines_of(&self, other: &Self) -> bool {
        let (one, two) = (&self.lines, &other.lines);
        !one.is_empty()
            && match (self.item.kind, other.item.kind) {
                (Kind::Race, Kind::Atomicity) | (Kind::Atomicity, Kind::Race) => {
                    one.is_subset(two) || two.is_subset(one)
                }
                // A run that hangs has more threads waiting than those that wait for each other.
                (Kind::Deadlock, Kind::Deadlock) => one.is_subset(two),
                (Kind::Race, Kind::Race) | (Kind::Atomicity, Kind::Atomicity) => one == two,
                (Kind::Race | Kind::Atomicity, Kind::Failure) => self.fails() && !two.is_empty() && two.is_subset(one),
                (Kind::Failure, Kind::Race | Kind::Atomicity) => other.fails() && one.is_subset(two),
                // What was not done together is why somebody waits in vain.
                (Kind::Race | Kind::Atomicity, Kind::Deadlock) => self.hangs() && !one.is_disjoint(two),
                (Kind::Deadlock, Kind::Race | Kind::Atomicity) => other.hangs() && !one.is_disjoint(two),
                _ => false,
            }
    }
}

#[cfg(test)]
mod tests;
