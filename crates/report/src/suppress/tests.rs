//! Suppressions on made-up findings: both kinds of files, and what each pattern takes.

use reweave_model::Strength;

use super::*;
use crate::data::Facts;

fn access(function: &str, file: &str, line: u32, callers: &[&str]) -> AccessItem {
    let location = Location { file: file.into(), line, function: function.into() };
    let caller = |name: &&str| Location { file: "/src/app.c".into(), line: 1, function: (*name).into() };
    AccessItem {
        thread: 1,
        thread_name: None,
        process: None,
        rank: None,
        op: reweave_model::OpName::Write.into(),
        location,
        stack: callers.iter().map(caller).collect(),
        through: Vec::new(),
        locks_held: Vec::new(),
        memory: None,
        event: None,
    }
}

fn bank() -> Item {
    Item {
        id: 1,
        fingerprint: "92b43991cbe295bb".into(),
        summary: "data race on balance: write and read are not ordered".into(),
        accesses: vec![
            access("deposit", "/src/bank/bank.c", 24, &["teller", "main"]),
            access("withdraw", "/src/bank/bank.c", 15, &["customer"]),
        ],
        facts: Facts { variable: Some("balance".into()), ..Facts::default() },
        ..Item::new(Kind::Race, Strength::Confirmed)
    }
}

fn covers(line: &str) -> bool {
    let mut all = Suppressions::default();
    all.add("s.txt", line).unwrap_or_else(|mistake| panic!("{mistake}"));
    all.reason(&bank()).is_some()
}

#[test]
fn by_kind_function_file_pair_and_fingerprint() {
    for line in [
        "race function=deposit : r",
        "race function=dep* : r",
        "any function=teller : r",
        "any file=bank.c : r",
        "any file=bank/*.c : r",
        "race pair=bank.c:15,bank.c:24 : r",
        "race pair=bank.c:24,bank.c:15 : r",
        "race pair=deposit,withdraw : r",
        "race pair=bank.c,bank.c : r",
        "race fingerprint=92b43991cbe295bb : r",
        "race function=deposit file=bank.c : both hold",
    ] {
        assert!(covers(line), "{line}");
    }
    for line in [
        "deadlock function=deposit : r",
        "race function=deposi : r",
        "any file=ank.c : r",
        "race pair=bank.c:15,bank.c:15 : r",
        "race pair=deposit,deposit : r",
        "race fingerprint=0000000000000000 : r",
        "race function=deposit file=other.c : only one holds",
    ] {
        assert!(!covers(line), "{line}");
    }
}

#[test]
fn files_of_thread_sanitizer() {
    for line in [
        "race:deposit",
        "race:depo",
        "race:^dep",
        "race:sit$",
        "race:bank.c",
        "race:teller",
        "race_top:deposit",
        "race:d*t",
        "race:^balance$",
    ] {
        assert!(covers(line), "{line}");
    }
    for line in [
        "race:^epo",
        "race_top:teller",
        "deadlock:deposit",
        "mutex:deposit",
        "thread:deposit",
        "signal:deposit",
        "called_from_lib:libbank.so",
    ] {
        assert!(!covers(line), "{line}");
    }
    let mut all = Suppressions::default();
    let text = "# Third-party code\nrace:third_party/\n\nrace:deposit\nmutex:^pool_\n";
    all.add("tsan.supp", text).expect("read as it is");
    assert_eq!(all.reason(&bank()), Some("`race:deposit` in tsan.supp:4"));
}

#[test]
fn a_reason_is_required_and_mistakes_say_where() {
    for (line, what) in [
        ("race function=deposit", "no reason"),
        ("race function=deposit :", "the reason is empty"),
        ("race function=deposit :   ", "the reason is empty"),
        ("race : everything", "which ones"),
        ("race: because", "no reason"),
        ("rase function=deposit : r", "no kind of finding"),
        ("race functio=deposit : r", "no condition"),
        ("race function= : r", "no condition"),
        ("race pair=deposit : r", "two places"),
    ] {
        let mut all = Suppressions::default();
        let text = format!("# first\n\n{line}\n");
        let mistake = all.add("s.txt", &text).expect_err(line);
        assert!(mistake.to_string().starts_with("s.txt:3: "), "{mistake}");
        assert!(mistake.what.contains(what), "{line}: {mistake}");
    }
}

#[test]
fn suppressed_findings_stay_but_fail_nothing() {
    let mut report = Report {
        reweave: "0".into(),
        schema: crate::data::SCHEMA,
        program: Vec::new(),
        findings: vec![bank()],
        stats: std::collections::BTreeMap::new(),
        ..Report::default()
    };
    assert!(report.has_findings());
    let mut all = Suppressions::default();
    all.add("s.txt", "race function=deposit : known").expect("a reason");
    assert_eq!(all.apply(&mut report), 1);
    assert!(!report.has_findings());
    assert_eq!(report.findings[0].suppressed.as_deref(), Some("known"));
    // Taken out of the file, it is back.
    assert_eq!(Suppressions::default().apply(&mut report), 0);
    assert!(report.has_findings());
}
