//! Which made-up findings are one bug, and what is said of them together.

use super::*;
use reweave_model::{BlockSource, Novelty, Strength};

use crate::data::{AccessItem, Facts, Location, Report};

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
fn a_block_that_fails_one_way_is_one_bug() {
    let block = |line: u32| {
        let at = Location { file: "pool.c".into(), line, function: "take".into() };
        Some(crate::data::BlockItem { label: None, enter: at.clone(), exit: at })
    };
    let torn =
        |id, lines: &[u32], outcome, line| Item { block_at: block(line), ..item(id, Kind::Atomicity, lines, outcome) };
    let items = [
        torn(1, &[18, 30, 20], "ended with status 1", 17),
        torn(2, &[41, 50, 42], "ended with status 1", 17),
        torn(3, &[61, 70, 62], "ended by SIGSEGV", 17),
        torn(4, &[81, 90, 82], "ended with status 1", 80),
        torn(5, &[91, 95, 92], "ended normally", 17),
    ];
    assert_eq!(ids(&items), [vec![1, 2], vec![3], vec![4], vec![5]]);
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
    let folded: Vec<(u32, usize)> = folded(&items).iter().map(|group| (group.lead.id, group.others.len())).collect();
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

fn about(id: u32, kind: Kind, lines: &[u32], functions: &[&str], memory: &[(&str, &str, Option<&str>)]) -> Item {
    let mut item = item(id, kind, lines, "ended normally");
    for (access, function) in item.accesses.iter_mut().zip(functions) {
        access.location.function = (*function).into();
    }
    for (access, (object, part, holds)) in item.accesses.iter_mut().zip(memory.iter().cycle()) {
        access.memory = Some(MemoryItem {
            object: (*object).into(),
            part: (*part).into(),
            allocated: object.contains(':'),
            holds: holds.map(str::to_owned),
        });
    }
    item
}

const BLOCK: &str = "publish.cpp:15 reload";
const BUFFER: &str = "publish.cpp:20 reload";

/// The pointer, the fields behind it, and what one of these points to.
#[test]
fn what_is_published_too_early_is_one_bug() {
    let both = ["reload", "serve"];
    let items = [
        about(1, Kind::Race, &[20, 28], &both, &[(BUFFER, "", None)]),
        about(2, Kind::Race, &[16, 24], &both, &[("current", "", Some(BLOCK))]),
        about(3, Kind::Race, &[17, 26], &both, &[(BLOCK, "+4", None)]),
        about(4, Kind::Race, &[21, 28], &both, &[(BLOCK, "+40", Some(BUFFER))]),
        about(5, Kind::Race, &[18, 31], &["reload", "dump"], &[(BLOCK, "+8", None)]),
        about(6, Kind::Race, &[50, 51], &["count", "count"], &[("served", "", None)]),
    ];
    assert_eq!(ids(&items), [vec![1, 2, 3, 4, 5], vec![6]]);
}

#[test]
fn everything_that_follows_from_one_free_is_one_bug() {
    let free = |mut item: Item| {
        item.accesses[1].op = OpName::Free.into();
        item
    };
    let items = [
        free(item(1, Kind::Race, &[9, 17], "ended by SIGABRT")),
        free(item(2, Kind::Race, &[10, 17], "ended normally")),
        free(item(3, Kind::Misuse, &[12, 17], "ended by SIGABRT")),
        free(item(4, Kind::Failure, &[11, 17], "ended by SIGABRT")),
        item(5, Kind::Race, &[7, 16], "ended by SIGSEGV"),
        free(about(6, Kind::Race, &[9, 30], &["f", "g"], &[])),
    ];
    assert_eq!(ids(&items), [vec![1, 2, 3, 4, 5], vec![6]]);
}

#[test]
fn who_frees_twice_does_so_in_the_block_that_is_torn() {
    let mut twice = item(1, Kind::Failure, &[5, 9], "ended by SIGABRT");
    twice.accesses.iter_mut().for_each(|access| access.op = OpName::Free.into());
    let torn = item(2, Kind::Atomicity, &[4, 5, 9, 10], "ended by SIGABRT");
    let elsewhere = item(3, Kind::Atomicity, &[20, 21, 22], "ended by SIGABRT");
    assert_eq!(ids(&[twice, torn, elsewhere]), [vec![1, 2], vec![3]]);
}

#[test]
fn a_lost_update_is_one_bug_wherever_it_is_lost() {
    let items = [
        about(1, Kind::Race, &[25, 30], &["work", "count"], &[("done", "", None)]),
        about(2, Kind::Race, &[25, 25], &["work", "work"], &[("done", "", None)]),
        about(3, Kind::Atomicity, &[24, 25, 40], &["work", "work", "reset"], &[("done", "", None)]),
        about(4, Kind::Race, &[26, 31], &["work", "count"], &[("total", "", None)]),
    ];
    assert_eq!(ids(&items), [vec![1, 2, 3], vec![4]]);
}

#[test]
fn who_waits_in_vain_waits_for_what_was_not_done_together() {
    let mut race = item(1, Kind::Race, &[19, 29], "hung");
    race.harm = Some(Harm::Hang);
    let items = [race, item(2, Kind::Deadlock, &[19, 36], "hung"), item(3, Kind::Deadlock, &[50, 60], "hung")];
    assert_eq!(ids(&items), [vec![1, 2], vec![3]]);
}

#[test]
fn two_bugs_that_end_alike_stay_two() {
    let items = [
        item(1, Kind::Race, &[15, 24], "ended by SIGSEGV"),
        item(2, Kind::Race, &[40, 41], "ended by SIGSEGV"),
        item(3, Kind::Failure, &[], "ended by SIGSEGV"),
    ];
    assert_eq!(ids(&items), [vec![1, 3], vec![2]]);
}

#[test]
fn a_block_that_only_makes_a_counter_differ_is_minor() {
    let mut block = item(1, Kind::Atomicity, &[15, 24], "ended normally");
    (block.block, block.harm) = (Some(BlockSource::Inferred), Some(Harm::OtherOutput));
    let alone = |item: &Item| Group { lead: item, others: Vec::new() }.is_minor();
    assert!(alone(&block));
    assert!(!alone(&Item { block: Some(BlockSource::Declared), ..block.clone() }));
    assert!(!alone(&Item { harm: Some(Harm::Crash), ..block }));
}

#[test]
fn suppressing_a_bug_silences_its_group() {
    let names = ["reload", "serve"];
    let findings = vec![
        Item {
            fingerprint: "a".repeat(16),
            ..about(1, Kind::Race, &[16, 24], &names, &[("current", "", Some(BLOCK))])
        },
        Item { fingerprint: "b".repeat(16), ..about(2, Kind::Race, &[17, 26], &names, &[(BLOCK, "+4", None)]) },
        Item { fingerprint: "c".repeat(16), ..about(3, Kind::Race, &[50, 51], &["f", "g"], &[("served", "", None)]) },
    ];
    // Which of them is the strongest can be another one in the next test.
    for named in ["a", "b"] {
        let mut report = Report { findings: findings.clone(), ..Report::default() };
        let mut suppressions = crate::Suppressions::default();
        let text = format!("race fingerprint={} : known", named.repeat(16));
        suppressions.add("file", &text).expect("it is understood");
        assert_eq!(suppressions.apply(&mut report), 2, "{named}");
        let news: Vec<u32> = report.findings.iter().filter(|item| item.is_news()).map(|item| item.id).collect();
        assert_eq!(news, [3]);
        let groups: Vec<usize> = folded(&report.findings).iter().map(|group| group.items().count()).collect();
        assert_eq!(groups, [1, 2], "one entry each, also for what is suppressed");
    }
}

#[test]
fn the_report_says_what_is_one_bug() {
    let (names, memory) = (["reload", "serve"], [(BLOCK, "+4", None)]);
    let findings = vec![
        about(2, Kind::Race, &[17, 26], &names, &memory),
        about(1, Kind::Race, &[18, 26], &names, &memory),
        item(3, Kind::Nondeterminism, &[26], "ended normally"),
    ];
    let report = Report { findings, ..Report::default() };
    let read = Report::from_json(&report.to_json()).expect("it is read back");
    assert_eq!(read.bugs.iter().map(|bug| bug.findings.as_slice()).collect::<Vec<_>>(), [[2, 1]]);
}
