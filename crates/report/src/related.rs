//! Findings that are one bug to people, by what causes them: what races on two lines also tears the block around them
//! apart, and ends runs the same way; an object that is published before it is filled in races in each of its fields;
//! whatever uses freed memory follows from where it was freed. A report keeps all of them; who reads it is told of the
//! strongest in full, and of the others in a line each. Nothing is left out, and nothing is decided: two bugs in the
//! same place are told together.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use reweave_model::{Harm, Kind, Novelty, OpName};

use crate::data::{AccessItem, Bug, Item, Operation};
use crate::memory::MemoryItem;
use crate::pattern::Pattern;

/// Why a finding is told with another.
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

/// Puts findings together, the strongest of each group first if they come that way.
pub fn groups<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<Group<'a>> {
    let items: Vec<&Item> = items.into_iter().collect();
    // That a run failed follows from what made it fail, but two bugs can end alike: it joins one group.
    let (follows, causes): (Vec<usize>, Vec<usize>) =
        (0..items.len()).partition(|&at| items[at].kind == Kind::Failure && freed_at(items[at]).is_empty());
    // What each belongs to: the first of its group.
    let mut first: Vec<usize> = (0..items.len()).collect();
    for (n, &at) in causes.iter().enumerate() {
        let related = causes[..n].iter().filter(|&&other| cause(items[other], items[at]).is_some());
        let mut together: BTreeSet<usize> = related.map(|&other| first[other]).collect();
        together.insert(at);
        // Two groups may turn out to be one.
        let lead = *together.first().expect("itself at least");
        first.iter_mut().filter(|group| together.contains(group)).for_each(|group| *group = lead);
    }
    for &at in &follows {
        let all = causes.iter().chain(follows.iter().filter(|&&other| other < at));
        let lead = all.filter(|&&other| relation(items[other], items[at]).is_some()).map(|&other| first[other]).min();
        // A failure that the strongest finding is keeps the word, unless something explains it.
        first[at] = lead.unwrap_or(at);
    }
    gather(&items, &first)
}

/// `first` says which group each belongs to.
fn gather<'a>(items: &[&'a Item], first: &[usize]) -> Vec<Group<'a>> {
    let mut groups: Vec<(usize, Vec<&'a Item>)> = Vec::new();
    for (at, &item) in items.iter().enumerate() {
        match groups.iter_mut().find(|(lead, _)| *lead == first[at]) {
            Some((_, members)) => members.push(item),
            None => groups.push((first[at], vec![item])),
        }
    }
    let group = |members: Vec<&'a Item>| {
        let why = |at: usize| members[..at].iter().find_map(|before| relation(before, members[at]));
        let others = (1..members.len()).map(|at| (members[at], why(at).unwrap_or(Relation::HandedOver))).collect();
        Group { lead: members[0], others }
    };
    groups.into_iter().map(|(_, members)| group(members)).collect()
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
    if let Some(relation) = cause(lead, other) {
        return Some(relation);
    }
    let ends_alike = lead.facts.ended.is_some() && lead.facts.ended == other.facts.ended;
    let same_end = other.kind == Kind::Failure && lead.kind != Kind::Failure && fails(lead) && ends_alike;
    same_end.then_some(Relation::Outcome)
}

fn fails(item: &Item) -> bool {
    item.harm.is_some_and(|harm| harm != Harm::Nothing)
}

/// Whether the two have the same cause, as far as places and memory say.
fn cause(lead: &Item, other: &Item) -> Option<Relation> {
    let (one, two) = (lines(lead), lines(other));
    let same_lines = !one.is_empty()
        && match (lead.kind, other.kind) {
            (Kind::Race, Kind::Atomicity) | (Kind::Atomicity, Kind::Race) => one.is_subset(&two) || two.is_subset(&one),
            // A run that hangs has more threads waiting than those that wait for each other.
            (Kind::Deadlock, Kind::Deadlock) => one.is_subset(&two),
            (Kind::Race, Kind::Race) | (Kind::Atomicity, Kind::Atomicity) => one == two,
            (Kind::Race | Kind::Atomicity, Kind::Failure) => fails(lead) && !two.is_empty() && two.is_subset(&one),
            // What was not done together is why somebody waits in vain.
            (Kind::Race | Kind::Atomicity, Kind::Deadlock) => hangs(lead) && !one.is_disjoint(&two),
            (Kind::Deadlock, Kind::Race | Kind::Atomicity) => hangs(other) && !one.is_disjoint(&two),
            _ => false,
        };
    if same_lines {
        return Some(Relation::Lines);
    }
    if !freed_at(lead).is_disjoint(&freed_at(other)) {
        return Some(Relation::Freed);
    }
    if !is_about_memory(lead) || !is_about_memory(other) {
        return None;
    }
    // Who takes a pointer away and frees what it points to does both too early, or too late.
    let frees = !freed_at(lead).is_empty() || !freed_at(other).is_empty();
    if frees && functions(lead) == functions(other) {
        return Some(Relation::Freed);
    }
    let (one, two) = (memory(lead), memory(other));
    // Fields of an object that the same code uses without protection lack the same protection.
    let share_function = !functions(lead).is_disjoint(&functions(other));
    let same =
        |a: &MemoryItem, b: &MemoryItem| a.object == b.object && (a.part == b.part || a.allocated && share_function);
    let points = |a: &MemoryItem, b: &MemoryItem| b.allocated && a.holds.as_ref() == Some(&b.object);
    let any = |holds: &dyn Fn(&MemoryItem, &MemoryItem) -> bool| one.iter().any(|a| two.iter().any(|b| holds(a, b)));
    if any(&same) {
        return Some(Relation::Memory);
    }
    // Whoever gets the pointer too early, or too late, uses everything behind it so.
    (any(&points) || any(&|a, b| points(b, a))).then_some(Relation::HandedOver)
}

fn hangs(item: &Item) -> bool {
    item.harm == Some(Harm::Hang)
}

const fn is_about_memory(item: &Item) -> bool {
    matches!(item.kind, Kind::Race | Kind::Atomicity)
}

fn lines(item: &Item) -> BTreeSet<(&str, u32)> {
    let places = item.accesses.iter().map(|access| (access.location.file.as_str(), access.location.line));
    places.filter(|(_, line)| *line != 0).collect()
}

fn memory(item: &Item) -> BTreeSet<&MemoryItem> {
    item.accesses.iter().filter_map(|access| access.memory.as_ref()).collect()
}

fn functions(item: &Item) -> BTreeSet<&str> {
    item.accesses.iter().map(|access| access.location.function.as_str()).collect()
}

/// Where memory is freed that it uses.
fn freed_at(item: &Item) -> BTreeSet<(&str, u32)> {
    let frees = |access: &&AccessItem| access.op == Operation::from(OpName::Free) && access.location.line != 0;
    let freed = item.accesses.iter().filter(frees);
    freed.map(|access| (access.location.file.as_str(), access.location.line)).collect()
}

#[cfg(test)]
mod tests;
