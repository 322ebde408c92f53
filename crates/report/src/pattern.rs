//! Bugs that have a name: by what the findings of a group are about, never by words. A sentence of advice goes with
//! each.

use std::collections::BTreeSet;

use reweave_model::{Kind, OpName, Strength, TurningPoint};
use serde::{Deserialize, Serialize};

use crate::data::{AccessItem, Item, Operation};
use crate::related::Group;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    UseAfterFree,
    UnguardedContainer,
    EarlyPublication,
    DoubleCheckedLocking,
    LockOrderInversion,
    Lockout,
    LostWakeUp,
    WokenForAnother,
    Aba,
    LostUpdate,
    CheckThenAct,
}

impl Pattern {
    /// The pattern of a bug, if it has one of these.
    pub fn of(group: &Group<'_>) -> Option<Self> {
        let any = |is: fn(&Item) -> bool| group.items().any(is);
        match () {
            () if any(checks_twice) => Some(Self::DoubleCheckedLocking),
            () if publishes(group) => Some(Self::EarlyPublication),
            () if is_in_library(group.lead) => Some(Self::UnguardedContainer),
            () if any(frees) => Some(Self::UseAfterFree),
            () if any(inverts) => Some(Self::LockOrderInversion),
            () if any(locks_out) => Some(Self::Lockout),
            () if any(waits_for_notify) => match group.items().find_map(|item| item.turn) {
                Some(TurningPoint::NotifyForAnother) => Some(Self::WokenForAnother),
                Some(TurningPoint::NotifyTooEarly) => Some(Self::LostWakeUp),
                // What a run did, it did for another reason.
                _ if group.lead.strength == Strength::Confirmed => None,
                _ => Some(Self::LostWakeUp),
            },
            () if any(|item| item.turn == Some(TurningPoint::Aba)) => Some(Self::Aba),
            () if updates(group) => Some(Self::LostUpdate),
            () if any(checks_and_acts) => Some(Self::CheckThenAct),
            () => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::UseAfterFree => "use after free",
            Self::UnguardedContainer => "unguarded container",
            Self::EarlyPublication => "early publication",
            Self::DoubleCheckedLocking => "double-checked locking",
            Self::LockOrderInversion => "lock-order inversion",
            Self::Lockout => "nested-monitor lockout",
            Self::LostWakeUp => "lost wake-up",
            Self::WokenForAnother => "notify for another",
            Self::Aba => "ABA",
            Self::LostUpdate => "lost update",
            Self::CheckThenAct => "check-then-act",
        }
    }

    /// What to do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::UseAfterFree => {
                "memory is freed while another thread can still use it: let the last user free it, or stop the others \
                 from using it first"
            }
            Self::UnguardedContainer => {
                "a container (or another object of a library) is changed while another thread uses it: guard every use \
                 of it by \
                 the same lock"
            }
            Self::EarlyPublication => {
                "other threads reach an object before it is filled in: fill it in first, then publish it under a lock \
                 or by an atomic"
            }
            Self::DoubleCheckedLocking => {
                "the first check is made without the lock: make it an atomic, or initialise the object once by what \
                 the language \
                 has for that"
            }
            Self::LockOrderInversion => {
                "the same locks are taken in different orders: take them in one order everywhere"
            }
            Self::Lockout => {
                "a thread waits to be notified and keeps another lock, which whoever would notify it needs: hold no \
                 other lock while waiting"
            }
            Self::LostWakeUp => {
                "the notify can come before the wait: change the condition under the lock, and check it in a loop \
                 before waiting"
            }
            Self::WokenForAnother => {
                "the notify woke another thread, and this one was never notified: notify all of them, or use a \
                 condition of its own for each thing that is waited for"
            }
            Self::Aba => {
                "a pointer was changed and changed back before it was compared, so the comparison noticed nothing: \
                 count the changes beside the pointer, or do not reuse what others may still read"
            }
            Self::LostUpdate => {
                "it is read, changed and written back in steps: do all of it under one lock, or by one atomic operation"
            }
            Self::CheckThenAct => {
                "what was checked may no longer hold when it is acted on: hold one lock from the check to the act"
            }
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name(), self.advice())
    }
}

fn is(access: &AccessItem, name: OpName) -> bool {
    access.op == Operation::Named(name)
}

fn frees(item: &Item) -> bool {
    item.accesses.len() > 1 && item.accesses.iter().any(|access| is(access, OpName::Free))
}

/// Two uses of what a library keeps.
fn is_in_library(item: &Item) -> bool {
    item.kind == Kind::Race && item.accesses.len() == 2 && item.accesses.iter().all(|access| !access.through.is_empty())
}

fn locks(access: &AccessItem) -> BTreeSet<&str> {
    access.locks_held.iter().map(|held| held.name.as_str()).collect()
}

/// Each waits for what the next one holds.
fn inverts(item: &Item) -> bool {
    let next = item.accesses.iter().cycle().skip(1);
    item.kind == Kind::Deadlock
        && item.accesses.len() > 1
        && item.accesses.iter().zip(next).all(
            |(access, next)| matches!(&access.op, Operation::WaitForLock(lock) if locks(next).contains(lock.as_str())),
        )
}

fn awaits_notify(access: &AccessItem) -> bool {
    match &access.op {
        Operation::WaitFor(what) => what.starts_with("a notify on "),
        op => *op == Operation::Named(OpName::Wait),
    }
}

/// Somebody waits to be told something that was told before.
fn waits_for_notify(item: &Item) -> bool {
    item.kind == Kind::Deadlock && item.accesses.iter().any(awaits_notify)
}

/// Somebody waits to be told something, and another waits for a lock that the first one keeps.
fn locks_out(item: &Item) -> bool {
    let kept: BTreeSet<&str> = item.accesses.iter().filter(|access| awaits_notify(access)).flat_map(locks).collect();
    let needs =
        |access: &AccessItem| matches!(&access.op, Operation::WaitForLock(lock) if kept.contains(lock.as_str()));
    item.kind == Kind::Deadlock && item.accesses.iter().any(needs)
}

/// The same function looks without the lock and writes a pointer with it.
fn checks_twice(item: &Item) -> bool {
    let [one, two] = &item.accesses[..] else { return false };
    let pair = |read: &AccessItem, write: &AccessItem| {
        is(read, OpName::Read) && is(write, OpName::Write) && locks(read).is_empty() && !locks(write).is_empty()
    };
    let holds = |access: &AccessItem| access.memory.as_ref().is_some_and(|memory| memory.holds.is_some());
    item.kind == Kind::Race
        && one.location.function == two.location.function
        && (pair(one, two) || pair(two, one))
        && (holds(one) || holds(two))
}

/// A pointer is written while others read it, and what it points to is written, too.
fn publishes(group: &Group<'_>) -> bool {
    let races = || group.items().filter(|item| item.kind == Kind::Race).flat_map(|item| &item.accesses);
    let written = || races().filter(|access| is(access, OpName::Write));
    // What lies in variables: a pointer inside a block is part of what is published. What a library keeps to itself is
    // published by nobody.
    let own = written().filter(|access| access.through.is_empty()).filter_map(|access| access.memory.as_ref());
    let pointers = own.filter(|memory| !memory.allocated);
    let held: BTreeSet<&str> = pointers.filter_map(|memory| memory.holds.as_deref()).collect();
    let mut memory = written().filter_map(|access| access.memory.as_ref());
    memory.any(|memory| memory.allocated && held.contains(memory.object.as_str()))
}

/// The same is read and written in steps, by two threads: a block of its own, or a line on which each reads and writes
/// it. In the run of a race by memory order alone nothing is lost: weak synchronization orders the two.
fn updates(group: &Group<'_>) -> bool {
    let strong = || group.items().filter(|item| !item.facts.memory_order);
    let pair = |item: &Item, names: [OpName; 2]| {
        let [one, two] = &item.accesses[..] else { return None };
        let on_one_line = one.location.line != 0 && one.location == two.location && one.memory == two.memory;
        let named = is(one, names[0]) && is(two, names[1]) || is(one, names[1]) && is(two, names[0]);
        (item.kind == Kind::Race && on_one_line && named).then(|| (one.location.clone(), one.memory.clone()))
    };
    let reads = strong().filter_map(|item| pair(item, [OpName::Read, OpName::Write]));
    // Where one only reads, and the other only writes, nothing of the reader's is lost.
    let mut writes =
        reads.flat_map(|at| strong().map(move |item| pair(item, [OpName::Write; 2]).as_ref() == Some(&at)));
    writes.any(|both| both) || strong().any(reads_and_writes_back)
}

fn reads_and_writes_back(item: &Item) -> bool {
    let same = |one: &AccessItem, two: &AccessItem| one.memory.is_some() && one.memory == two.memory;
    match (&item.accesses[..], item.kind) {
        ([first, .., last], Kind::Atomicity) => {
            is(first, OpName::Read) && is(last, OpName::Write) && first.thread == last.thread && same(first, last)
        }
        _ => false,
    }
}

fn checks_and_acts(item: &Item) -> bool {
    let Some(own) = item.accesses.first().map(|access| access.thread) else { return false };
    let mut mine = item.accesses.iter().filter(|access| access.thread == own);
    item.kind == Kind::Atomicity && mine.next().is_some_and(|first| is(first, OpName::Read)) && mine.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{HeldLock, Location};
    use crate::memory::MemoryItem;

    fn access(thread: u32, op: Operation, held: &[&str], object: &str, holds: Option<&str>) -> AccessItem {
        let memory = MemoryItem {
            object: object.into(),
            part: String::new(),
            allocated: object.contains(':'),
            holds: holds.map(str::to_owned),
        };
        AccessItem {
            thread,
            op,
            location: Location { file: "a.c".into(), line: thread + 1, function: "f".into() },
            locks_held: held.iter().map(|name| HeldLock { name: (*name).into(), taken: None, shared: false }).collect(),
            memory: Some(memory),
            ..AccessItem::default()
        }
    }

    fn pattern(kinds: &[(Kind, Vec<AccessItem>)]) -> Option<Pattern> {
        let item = |(kind, accesses): &(Kind, Vec<AccessItem>)| Item {
            accesses: accesses.clone(),
            ..Item::new(*kind, Strength::Confirmed)
        };
        let items: Vec<Item> = kinds.iter().map(item).collect();
        let others = items[1..].iter().map(|item| (item, crate::related::Relation::Memory)).collect();
        Pattern::of(&Group { lead: &items[0], others })
    }

    #[test]
    fn bugs_have_names() {
        let (read, write, free) =
            (|| Operation::from(OpName::Read), || Operation::from(OpName::Write), || Operation::from(OpName::Free));
        let race = |one, two| (Kind::Race, vec![one, two]);
        let plain = |thread, op| access(thread, op, &[], "n", None);
        assert_eq!(pattern(&[race(plain(1, read()), plain(2, write()))]), None);
        assert_eq!(pattern(&[race(plain(1, read()), plain(2, free()))]), Some(Pattern::UseAfterFree));
        let through = |thread, op| AccessItem { through: vec![Location::default()], ..plain(thread, op) };
        assert_eq!(pattern(&[race(through(1, read()), through(2, write()))]), Some(Pattern::UnguardedContainer));
        assert_eq!(pattern(&[race(through(1, read()), plain(2, write()))]), None);
        let pointer = race(access(1, write(), &[], "now", Some("a.c:3 f")), access(2, read(), &[], "now", None));
        let field = race(access(1, write(), &[], "a.c:3 f", None), access(2, read(), &[], "a.c:3 f", None));
        assert_eq!(pattern(&[pointer, field.clone()]), Some(Pattern::EarlyPublication));
        assert_eq!(pattern(&[field]), None);
        let checked = race(access(1, read(), &[], "one", None), access(2, write(), &["lock"], "one", Some("a.c:3 f")));
        assert_eq!(pattern(&[checked]), Some(Pattern::DoubleCheckedLocking));
        let waits = |thread, lock: &str, held| access(thread, Operation::WaitForLock(lock.into()), held, "", None);
        let circle = (Kind::Deadlock, vec![waits(1, "a", &["b"]), waits(2, "b", &["a"])]);
        assert_eq!(pattern(&[circle]), Some(Pattern::LockOrderInversion));
        let waits_and_keeps = |held| access(1, Operation::WaitFor("a notify on full".into()), held, "", None);
        let locked_out = |held| (Kind::Deadlock, vec![waits_and_keeps(held), waits(2, "outer", &[])]);
        assert_eq!(pattern(&[locked_out(&["outer"])]), Some(Pattern::Lockout));
        assert_eq!(pattern(&[locked_out(&["other"])]), None);
        let waiting = |turn| {
            let notify = access(1, Operation::WaitFor("a notify on ready".into()), &[], "", None);
            let item = Item { accesses: vec![notify], turn, ..Item::new(Kind::Deadlock, Strength::Confirmed) };
            Pattern::of(&Group { lead: &item, others: Vec::new() })
        };
        assert_eq!(waiting(Some(TurningPoint::NotifyTooEarly)), Some(Pattern::LostWakeUp));
        assert_eq!(waiting(Some(TurningPoint::NotifyForAnother)), Some(Pattern::WokenForAnother));
        assert_eq!(waiting(None), None, "it was never notified");
        let failed = Item { turn: Some(TurningPoint::Aba), ..Item::new(Kind::Failure, Strength::Confirmed) };
        assert_eq!(Pattern::of(&Group { lead: &failed, others: Vec::new() }), Some(Pattern::Aba));
        let update = vec![plain(1, read()), plain(2, write()), plain(1, write())];
        assert_eq!(pattern(&[(Kind::Atomicity, update)]), Some(Pattern::LostUpdate));
        let on_a_line = |ops: &[[Operation; 2]], memory_order| {
            let item = |[one, two]: &[Operation; 2]| {
                let mut item = Item::new(Kind::Race, Strength::Confirmed);
                item.accesses = vec![plain(1, one.clone()), AccessItem { thread: 2, ..plain(1, two.clone()) }];
                item.facts.memory_order = memory_order;
                item
            };
            let items: Vec<Item> = ops.iter().map(item).collect();
            let others = items[1..].iter().map(|item| (item, crate::related::Relation::Memory)).collect();
            Pattern::of(&Group { lead: &items[0], others })
        };
        let (mixed, twice) = ([read(), write()], [write(), write()]);
        assert_eq!(on_a_line(&[mixed.clone(), twice.clone()], false), Some(Pattern::LostUpdate));
        assert_eq!(on_a_line(std::slice::from_ref(&mixed), false), None, "one only reads, the other only writes");
        assert_eq!(on_a_line(&[mixed, twice], true), None, "weak synchronization orders them: nothing is lost");
        let act = vec![plain(1, read()), plain(2, write()), access(1, write(), &[], "other", None)];
        assert_eq!(pattern(&[(Kind::Atomicity, act)]), Some(Pattern::CheckThenAct));
    }
}
