//! The way through the whole: build, record, inspect, test, replay.

mod lab;

use lab::Lab;

#[test]
fn demo_finds_and_replays_its_bug() {
    let lab = Lab::new();
    let said = lab.reweave(&["demo", "--keep", "kept"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("confirmed: data race on balance"), "{said:?}");
    assert!(said.stderr.contains("it happened again; the program ended with status 1"), "{said:?}");
    assert!(lab.path("kept/reweave-out/report.json").exists());
}

#[test]
fn race_is_confirmed_reported_and_replayed() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    let said = lab.reweave(&["test", "-o", "out", "--", "./bank"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.stdout, "balance 100\n", "the program's output is its own");
    let report = std::fs::read_to_string(lab.path("out/report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let first = &report["findings"][0];
    assert_eq!(first["kind"], "race");
    assert_eq!(first["strength"], "confirmed");
    // The worst comes first, whatever its number.
    let folder = format!("out/{}", first["id"]);
    assert_eq!(first["schedule"], format!("{}/schedule.rws", first["id"]));
    let lines: Vec<u64> = (0..2).filter_map(|i| first["accesses"][i]["location"]["line"].as_u64()).collect();
    assert!(lines.contains(&14) && lines.contains(&22), "{first}");
    for _ in 0..3 {
        let again = lab.reweave(&["replay", &folder]);
        assert_eq!(again.code, 1, "{again:?}");
        assert!(again.stderr.contains("identically"), "{again:?}");
    }
    let story = lab.reweave(&["explain", &folder]);
    assert!(story.stdout.contains("(1)") && story.stdout.contains("(2)"), "{story:?}");
    assert_eq!(lab.reweave(&["report", "out"]).code, 1);
    assert_eq!(lab.reweave(&["confirm", "out"]).code, 1);
}

#[test]
fn clean_program_has_no_findings() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_ok.c", "bank");
    let said = lab.reweave(&["test", "--", "./bank"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("no findings"), "{said:?}");
}

#[test]
fn same_seed_same_trace_and_replay_is_identical() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    let listing = |seed: &str| {
        let said = lab.reweave(&["record", "--policy", "random", "--seed", seed, "--", "./bank"]);
        assert_eq!(said.code, 0, "{said:?}");
        let replayed = lab.reweave(&["replay", "reweave.rwt"]);
        assert_eq!(replayed.code, 0, "{replayed:?}");
        lab.reweave(&["inspect", "reweave.rwt", "--events", "--location", "balance"]).stdout
    };
    assert_eq!(listing("5"), listing("5"));
    let others: std::collections::BTreeSet<String> = (1..=8).map(|seed| listing(&seed.to_string())).collect();
    assert!(others.len() > 1, "eight seeds, one schedule");
}

#[test]
fn inspect_shows_and_filters() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    assert_eq!(lab.reweave(&["record", "--", "./bank"]).code, 0);
    let overview = lab.reweave(&["inspect", "reweave.rwt"]).stdout;
    for part in ["threads", "events by kind", "balance", "account", "reads no recorded write explains: 0"] {
        assert!(overview.contains(part), "no `{part}` in {overview}");
    }
    let writes = lab.reweave(&["inspect", "reweave.rwt", "--kind", "write", "--thread", "1"]).stdout;
    assert_eq!(writes.lines().count(), 3, "{writes}");
    assert!(writes.contains("balance:4 = 110") && writes.contains("bank_bad.c:14 deposit"), "{writes}");
    let line = lab.reweave(&["inspect", "reweave.rwt", "--location", "bank_bad.c:21"]).stdout;
    assert_eq!(line.lines().filter(|line| line.contains("acquire")).count(), 3, "{line}");
}

#[test]
fn input_is_kept_and_fed_again() {
    let lab = Lab::new();
    lab.build_text(
        "#include <stdio.h>\nint main(void) { char line[64]; int n = 0; while (fgets(line, sizeof line, stdin)) n++;\n\
         printf(\"%d lines\\n\", n); return n; }",
        "count",
    );
    let said = lab.shell("printf 'a\\nb\\nc\\n' | \"$REWEAVE\" record -- ./count");
    assert_eq!((said.code, said.stdout.as_str()), (3, "3 lines\n"), "{said:?}");
    let again = lab.reweave(&["replay", "reweave.rwt"]);
    assert_eq!((again.code, again.stdout.as_str()), (1, "3 lines\n"), "{again:?}");
}

#[test]
fn conversions() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    assert_eq!(lab.reweave(&["record", "--", "./bank"]).code, 0);
    for out in ["t.std", "t.csv", "t.jsonl"] {
        let said = lab.reweave(&["convert", "reweave.rwt", out]);
        assert_eq!(said.code, 0, "{said:?}");
        let races = lab.reweave(&["predict", out]);
        assert!(races.stdout.contains("race"), "{out}: {races:?}");
    }
    assert_eq!(lab.reweave(&["convert", "reweave.rwt", "t.what"]).code, 2);
}

#[test]
fn every_command_has_help_with_examples() {
    let lab = Lab::new();
    for command in ["record", "replay", "inspect", "convert", "demo", "test", "confirm", "predict", "report", "explain"]
    {
        let help = lab.reweave(&[command, "--help"]);
        assert_eq!(help.code, 0, "{command}");
        assert!(help.stdout.contains("Example"), "{command}: {help:?}");
    }
    let compiler = lab.reweave(&["cc", "--version"]);
    assert_eq!(compiler.code, 0);
    assert!(!compiler.stdout.contains("reweave"), "the compiler answers itself: {compiler:?}");
}
