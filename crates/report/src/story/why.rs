//! Why a finding is possible: what the locks held say, in words.

use std::collections::BTreeSet;

use reweave_model::{Kind, Strength};

use super::listed;
use crate::data::{AccessItem, Item, Operation};

pub fn why(item: &Item) -> Vec<String> {
    if let Some(of_text) = &item.of_text {
        return vec![of_text.why.clone()];
    }
    match item.kind {
        Kind::Race => race(item),
        Kind::Deadlock => deadlock(item),
        Kind::Atomicity => atomicity(item),
        Kind::Nondeterminism => {
            let shown = match item.strength {
                Strength::Potential => "A pattern says so; no reordering is known to show it.",
                Strength::Confirmed => "A run did it.",
                Strength::Predicted => "A checked reordering of the recorded run shows it.",
            };
            vec![
                "Nothing determines which comes first: a lock only keeps the accesses apart, and no start or end of a \
                 thread, no wait and no \
                 message orders them. The schedule decides which write is the last one before the read."
                    .into(),
                shown.into(),
            ]
        }
        Kind::Failure => vec![match item.preemptions {
            Some(0) | None => {
                "The schedule alone leads there: the same input and the same steps of each thread.".into()
            }
            Some(n) => format!(
                "The schedule alone leads there, with {n} {}.",
                if n == 1 { "switch away from a thread that could have continued" } else { "preemptions" }
            ),
        }],
        Kind::Misuse => Vec::new(),
    }
}

fn names(access: &AccessItem) -> BTreeSet<&str> {
    access.locks_held.iter().map(|held| held.name.as_str()).collect()
}

fn holds(number: usize, access: &AccessItem) -> String {
    let names: Vec<String> = names(access).into_iter().map(str::to_owned).collect();
    match names[..] {
        [] => format!("({number}) holds no lock"),
        _ => format!("({number}) holds {}", listed(&names)),
    }
}

fn race(item: &Item) -> Vec<String> {
    let [one, two] = &item.accesses[..] else { return Vec::new() };
    let common: Vec<String> = names(one).intersection(&names(two)).map(|&name| name.to_owned()).collect();
    let lets_in = |name: &String| {
        let mut held = one.locks_held.iter().chain(&two.locks_held).filter(|held| held.name == *name);
        held.all(|held| held.shared)
    };
    let shared: Vec<String> = common.iter().filter(|name| lets_in(name)).cloned().collect();
    let locks = if !shared.is_empty() {
        format!("Both hold {}, but not against each other: a shared lock lets both in.", listed(&shared))
    } else if !common.is_empty() {
        format!("Both hold a lock called {}, but not the same one.", listed(&common))
    } else if one.locks_held.is_empty() && two.locks_held.is_empty() {
        "Neither holds a lock there.".into()
    } else {
        format!("{} and {}: they have no lock in common.", holds(1, one), holds(2, two))
    };
    let rest = if item.facts.memory_order {
        "The synchronization between them does not order them by the rules of C11: atomics that are relaxed or no pair \
         of release and \
         acquire, or a lock that both hold shared."
    } else {
        match item.strength {
            Strength::Confirmed => "Nothing else orders them either: the run did one right after the other.",
            Strength::Predicted => {
                "Nothing else orders them either: a checked reordering of the recorded run has one right after the \
                 other."
            }
            Strength::Potential => "Something else may order them: no run and no reordering is known to show it.",
        }
    };
    vec![locks, rest.into()]
}

fn deadlock(item: &Item) -> Vec<String> {
    let mut lines: Vec<String> = item
        .accesses
        .iter()
        .zip(1..)
        .map(|(access, number): (_, usize)| {
            let held: Vec<String> = access.locks_held.iter().map(ToString::to_string).collect();
            let holding = if held.is_empty() { "holds nothing".into() } else { format!("holds {}", listed(&held)) };
            let waits = access.op.awaited().unwrap_or_else(|| access.op.to_string());
            format!("({number}) T{} {holding} and waits for {waits}.", access.thread)
        })
        .collect();
    let next = item.accesses.iter().cycle().skip(1);
    let around = item.accesses.iter().zip(next).all(
        |(access, next)| matches!(&access.op, Operation::WaitForLock(lock) if names(next).contains(lock.as_str())),
    );
    lines.push(if around && item.accesses.len() > 1 {
        "Each waits for what the next one holds, and nothing keeps them from taking the locks in different orders at \
         the same \
         time."
            .into()
    } else {
        "No thread can make progress.".into()
    });
    lines
}

fn atomicity(item: &Item) -> Vec<String> {
    let Some(own) = item.accesses.first().map(|access| access.thread) else { return Vec::new() };
    let mine: Vec<(usize, &AccessItem)> =
        item.accesses.iter().enumerate().filter(|(_, access)| access.thread == own).map(|(i, a)| (i + 1, a)).collect();
    let (Some((first, from)), Some((last, to))) = (mine.first(), mine.last()) else { return Vec::new() };
    let inside = (1..).zip(&item.accesses).filter(|(n, a): &(usize, _)| a.thread != own && (first..last).contains(&n));
    let others: Vec<String> = inside.map(|(n, _)| format!("({n})")).collect();
    // Taken at the same place is not taken once, but taken at two places is taken twice.
    let throughout = from.locks_held.iter().any(|held| to.locks_held.contains(held));
    let common: Vec<String> = names(from).intersection(&names(to)).map(|&name| name.to_owned()).collect();
    let mut lines = vec![match (from.locks_held.is_empty(), to.locks_held.is_empty()) {
        (true, true) => format!("No lock is held at ({first}) and ({last})."),
        _ if common.is_empty() => {
            format!("{} and {}: no lock covers the block.", holds(*first, from), holds(*last, to))
        }
        _ if !throughout => format!(
            "({first}) and ({last}) are made under a lock ({}), but it is released between them: no lock covers the \
             block.",
            listed(&common)
        ),
        _ if item.is_proven() => format!("What is held at ({first}) and ({last}) does not keep the others out."),
        _ => format!(
            "Both ({first}) and ({last}) are made under a lock ({}): no run and no reordering shows that it lets \
             others in.",
            listed(&common)
        ),
    }];
    if !others.is_empty() {
        let verb = if others.len() == 1 { "comes" } else { "come" };
        lines.push(format!(
            "So {} of other threads {verb} in between: what the block does is not done in one step.",
            listed(&others)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use reweave_model::OpName;

    use super::*;
    use crate::data::HeldLock;

    /// What is said of a block of thread 1 that thread 2 comes into, by the locks at its ends.
    fn said(first: &[&str], last: &[&str], strength: Strength) -> String {
        let access = |thread, held: &[&str]| AccessItem {
            thread,
            op: OpName::Write.into(),
            locks_held: held.iter().map(|&text| HeldLock::from(text.to_owned())).collect(),
            ..AccessItem::default()
        };
        let accesses = vec![access(1, first), access(2, &[]), access(1, last)];
        why(&Item { accesses, ..Item::new(Kind::Atomicity, strength) }).remove(0)
    }

    #[test]
    fn locks_around_a_block_are_shown_as_they_are() {
        let (confirmed, potential) = (Strength::Confirmed, Strength::Potential);
        assert_eq!(said(&[], &[], confirmed), "No lock is held at (1) and (3).");
        let one = said(&[], &["m (taken at a.c:3 f)"], confirmed);
        assert_eq!(one, "(1) holds no lock and (3) holds m: no lock covers the block.");
        let twice = said(&["m (taken at a.c:3 f)"], &["m (taken at a.c:7 f)"], confirmed);
        assert!(twice.contains("released between them"), "{twice}");
        let same = ["m (taken at a.c:3 f)"];
        assert!(said(&same, &same, confirmed).contains("does not keep the others out"));
        assert!(said(&same, &same, potential).contains("no run and no reordering shows"));
    }

    #[test]
    fn locks_of_one_name_that_race_are_shared_or_two() {
        let said = |held: &str| {
            let access = |thread| AccessItem {
                thread,
                op: OpName::Write.into(),
                locks_held: vec![HeldLock::from(held.to_owned())],
                ..AccessItem::default()
            };
            why(&Item { accesses: vec![access(1), access(2)], ..Item::new(Kind::Race, Strength::Confirmed) }).remove(0)
        };
        assert!(
            said("m (shared, taken at a.c:3 f)").contains("Both hold m, but not against each other: a shared lock")
        );
        assert_eq!(said("m (taken at a.c:3 f)"), "Both hold a lock called m, but not the same one.");
    }
}
