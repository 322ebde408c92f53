//! Living with findings: suppressions and baselines on the command line.

use std::fs;

use super::{reweave, sample};

fn report(arguments: &[&str]) -> super::Said {
    reweave(&sample("race"), &[&["report", "."], arguments].concat())
}

#[test]
fn several_suppression_files_each_with_reasons() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let ours = file("ours.txt", "# kept short\ndeadlock function=* : not here\n");
    let tsan = file("tsan.supp", "race:^deposit$\n");
    assert_eq!(report(&["--suppress", &ours]).code, 1, "another kind");
    let said = report(&["--suppress", &ours, "--suppress", &tsan]);
    assert_eq!(said.code, 0, "{}", said.stdout);
    assert!(said.stdout.contains("1 suppressed"), "{}", said.stdout);
    let told = report(&["--suppress", &tsan, "--verbose"]).stdout;
    assert!(told.contains("(suppressed)") && told.contains("`race:^deposit$` in "), "{told}");
    let bare = file("bare.txt", "\nrace function=deposit\n");
    let said = report(&["--suppress", &bare]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("bare.txt:2: no reason"), "{}", said.stderr);
    assert_eq!(report(&["--suppress", "/no/such/file"]).code, 2);
}

#[test]
fn against_itself_everything_is_known_and_against_another_it_is_new() {
    let itself = report(&["--baseline", "report.json"]);
    assert_eq!(itself.code, 0, "{}", itself.stderr);
    assert!(itself.stdout.contains("0 new, 1 known, 0 gone"), "{}", itself.stdout);
    let other = report(&["--baseline", "../deadlock/report.json"]);
    assert_eq!(other.code, 1);
    assert!(other.stdout.contains("1 new, 0 known, 1 gone"), "{}", other.stdout);
    assert!(other.stdout.contains("gone: 2 threads wait for each other"), "{}", other.stdout);
    let wrong = report(&["--baseline", "bank.c"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("name the report.json of an earlier test"), "{}", wrong.stderr);
}
