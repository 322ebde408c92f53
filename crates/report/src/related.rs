//! Findings that are one bug to people: what races on two lines also tears the block around them apart, and ends runs
//! the same way. A report keeps all of them; who reads it is told of the strongest in full, and of the others in a line
//! each. Nothing is left out, and nothing is decided: two bugs on the same lines are told together.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use reweave_model::{Harm, Kind};

use crate::data::Item;

/// Why a finding is told with another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// It is about the same lines.
    Lines,
    /// Its run ended the same way.
    Outcome,
}

/// The first of each group has the word.
#[derive(Clone, PartialEq, Debug)]
pub struct Group<'a> {
    pub lead: &'a Item,
    pub others: Vec<(&'a Item, Relation)>,
}

/// Puts findings together, the strongest of each group first if they come that way.
pub fn groups<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for item in items {
        let with = groups.iter_mut().find_map(|group| Some((relation(group.lead, item)?, group)));
        match with {
            Some((relation, group)) => group.others.push((item, relation)),
            None => groups.push(Group { lead: item, others: Vec::new() }),
        }
    }
    groups
}

/// All findings, as a page shows them: the strongest first, what is one bug to people together. What is suppressed or
/// known stands alone, so that nothing new hides behind it, and so does what is merely potential beside what is sure.
pub fn folded(items: &[Item]) -> Vec<Group<'_>> {
    let (news, rest): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| item.is_news());
    let mut all = Vec::new();
    for proven in [true, false] {
        let mut some: Vec<&Item> = news.iter().copied().filter(|item| item.is_proven() == proven).collect();
        some.sort_by_key(|item| Reverse(item.strength));
        all.extend(groups(some));
    }
    all.extend(rest.into_iter().map(|item| Group { lead: item, others: Vec::new() }));
    all
}

/// Whether somebody who knows of `lead` needs no block about `other`.
pub fn relation(lead: &Item, other: &Item) -> Option<Relation> {
    let fails = |item: &Item| item.harm.is_some_and(|harm| harm != Harm::Nothing);
    let (one, two) = (lines(lead), lines(other));
    let same_lines = !one.is_empty()
        && match (lead.kind, other.kind) {
            (Kind::Race, Kind::Atomicity) | (Kind::Atomicity, Kind::Race) => one.is_subset(&two) || two.is_subset(&one),
            // A run that hangs has more threads waiting than those that wait for each other.
            (Kind::Deadlock, Kind::Deadlock) => one.is_subset(&two),
            (Kind::Race, Kind::Race) | (Kind::Atomicity, Kind::Atomicity) => one == two,
            (Kind::Race | Kind::Atomicity, Kind::Failure) => fails(lead) && !two.is_empty() && two.is_subset(&one),
            _ => false,
        };
    if same_lines {
        return Some(Relation::Lines);
    }
    let ends_alike = lead.facts.ended.is_some() && lead.facts.ended == other.facts.ended;
    let same_end = other.kind == Kind::Failure && lead.kind != Kind::Failure && fails(lead) && ends_alike;
    same_end.then_some(Relation::Outcome)
}

fn lines(item: &Item) -> BTreeSet<(&str, u32)> {
    let places = item.accesses.iter().map(|access| (access.location.file.as_str(), access.location.line));
    places.filter(|(_, line)| *line != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{Novelty, Strength};

    use crate::data::{AccessItem, Facts, Location};

    fn item(id: u32, kind: Kind, lines: &[u32], outcome: &str) -> Item {
        let access = |&line: &u32| AccessItem {
            location: Location { file: "bank.c".into(), line, function: "f".into() },
            ..AccessItem::default()
        };
        Item {
            id,
            accesses: lines.iter().map(access).collect(),
            outcome: Some(outcome.into()),
            harm: Some(if outcome == "ended normally" { Harm::Nothing } else { Harm::Status }),
            facts: Facts { ended: crate::describe::read_outcome(outcome), ..Facts::default() },
            ..Item::new(kind, Strength::Confirmed)
        }
    }

    fn ids(items: &[Item]) -> Vec<Vec<u32>> {
        let ids = |group: Group<'_>| -> Vec<u32> {
            [group.lead].into_iter().chain(group.others.iter().map(|(item, _)| *item)).map(|item| item.id).collect()
        };
        groups(items).into_iter().map(ids).collect()
    }

    #[test]
    fn one_bug_is_one_group() {
        let items = [
            item(1, Kind::Race, &[15, 24], "ended with status 1; it printed something else: 90"),
            item(2, Kind::Race, &[24, 15], "ended normally"),
            item(3, Kind::Atomicity, &[14, 15, 24], "ended with status 1"),
            item(4, Kind::Failure, &[], "ended with status 1"),
            item(5, Kind::Failure, &[24], "ended by SIGSEGV"),
        ];
        assert_eq!(ids(&items), [vec![1, 2, 3, 4, 5]]);
    }

    #[test]
    fn who_waits_for_a_deadlock_is_no_other_one() {
        let items = [
            item(1, Kind::Deadlock, &[13, 24], "hung"),
            item(2, Kind::Deadlock, &[13, 24, 36], "hung"),
            item(3, Kind::Deadlock, &[13, 40], "hung"),
        ];
        assert_eq!(ids(&items), [vec![1, 2], vec![3]]);
    }

    #[test]
    fn nothing_new_hides_behind_what_is_known() {
        let mut items = [
            item(1, Kind::Race, &[15, 24], "ended normally"),
            item(2, Kind::Race, &[15, 24], "ended normally"),
            item(3, Kind::Race, &[15, 24], "ended normally"),
        ];
        items[0].baseline = Some(Novelty::Known);
        items[1].strength = Strength::Predicted;
        items[2].strength = Strength::Confirmed;
        let folded: Vec<(u32, usize)> =
            folded(&items).iter().map(|group| (group.lead.id, group.others.len())).collect();
        assert_eq!(folded, [(3, 1), (1, 0)]);
    }

    #[test]
    fn other_lines_and_other_ends_stand_alone() {
        let items = [
            item(1, Kind::Race, &[15, 24], "ended normally"),
            item(2, Kind::Race, &[15, 30], "ended normally"),
            item(3, Kind::Deadlock, &[15, 24], "hung"),
            item(4, Kind::Failure, &[], "ended with status 1"),
            item(5, Kind::Failure, &[], "ended normally"),
        ];
        assert_eq!(ids(&items), [vec![1], vec![2], vec![3], vec![4], vec![5]]);
    }
}
