//! What was not really checked does not look green: exit code 2 and the reason, unless somebody allows it; and "no
//! findings" is followed by what was covered.

mod common;

use common::{Done, Scratch, root};

/// Not checked, and says why; `--allow-unchecked` passes it all the same.
fn refused(scratch: &Scratch, words: &[&str], why: &str) {
    let out = |done: &Done| format!("{}{}", done.stdout, done.stderr);
    let said = scratch.run(words).expect(2);
    let text = out(&said);
    assert!(text.contains("not checked: ") && text.contains(why), "{words:?}: {text}");
    assert!(!text.contains("no findings"), "{words:?}: {text}");
    let (command, rest) = words.split_first().expect("a command");
    let allowed = [*command, "--allow-unchecked"];
    scratch.run(allowed.iter().chain(rest)).expect(0);
}

#[test]
fn a_program_that_could_not_be_looked_at_is_not_clean() {
    let scratch = Scratch::new("unchecked");
    scratch.build("golden/mutex/bank_ok.c");
    // How far it came by then is a matter of luck, and so is what is said of it.
    refused(&scratch, &["test", "--budget", "1ms", "--", "./bank_ok"], "");
    let source = root().join("tests/golden/mutex/bank_ok.c");
    common::run(scratch.command("cc").arg(source).args(["-o", "plain", "-pthread"])).expect(0);
    refused(&scratch, &["test", "--budget", "2s", "--", "./plain"], "was not built with reweave cc");
    // Ends only when it is ended.
    scratch.file("forever.c", "#include <unistd.h>\nint main(void) { for (volatile int i = 0;; i++) usleep(100); }\n");
    scratch.run(["cc", "-g", "-o", "forever", "forever.c"]).expect(0);
    refused(&scratch, &["test", "--budget", "2s", "--", "./forever"], "did not end and was stopped");
    let report = scratch.run(["report", "reweave-out", "--junit", "report.xml"]).expect(0);
    let junit = std::fs::read_to_string(scratch.join("report.xml")).unwrap_or_else(|why| panic!("{why}: {report:?}"));
    assert!(junit.contains("errors=\"1\"") && junit.contains("did not end and was stopped"), "{junit}");
}

#[test]
fn a_trace_without_events_is_not_clean() {
    let scratch = Scratch::new("unchecked");
    scratch.file("empty.std", "");
    refused(&scratch, &["predict", "empty.std"], "the trace has no events");
    scratch.build("golden/mutex/bank_ok.c");
    scratch.run(["record", "-o", "run.rwt", "--", "./bank_ok"]).expect(0);
    let sound = scratch.run(["predict", "run.rwt"]).expect(0).stdout;
    assert!(sound.contains("no findings\ncovered: "), "{sound}");
    let whole = scratch.run(["inspect", "run.rwt"]).expect(0).stdout;
    assert!(whole.contains("ended normally"), "{whole}");
    // The first chunks, with how it was started and all events, are gone; how it ended stands in the last one.
    let mut bytes = std::fs::read(scratch.join("run.rwt")).expect("a trace");
    let most = bytes.len() * 3 / 4;
    bytes[64..most].iter_mut().for_each(|byte| *byte ^= 0x5a);
    std::fs::write(scratch.join("damaged.rwt"), bytes).expect("written");
    refused(&scratch, &["predict", "damaged.rwt"], "all events of the trace are lost");
    let damaged = scratch.run(["inspect", "damaged.rwt"]).expect(0).stdout;
    assert!(!damaged.contains("ended normally") && damaged.contains("not known"), "{damaged}");
}

#[test]
fn a_trace_that_was_not_read_to_its_end_is_not_clean() {
    let scratch = Scratch::new("unchecked");
    let mut text = String::from("T0|fork(T1)|1\n");
    for round in 0..100_000 {
        let thread = round % 2;
        text += &format!("T{thread}|acq(L)|2\nT{thread}|w(V{})|3\nT{thread}|rel(L)|4\n", round % 50);
    }
    scratch.file("long.std", &text);
    refused(&scratch, &["predict", "long.std", "--budget", "1ms"], "of 300001 events of the trace were read");
    let whole = scratch.run(["predict", "long.std"]).expect(0).stdout;
    assert!(whole.contains("no findings\ncovered: 300001 events of the trace"), "{whole}");
}

#[test]
fn no_findings_are_followed_by_what_was_covered() {
    let scratch = Scratch::new("unchecked");
    scratch.build("golden/mutex/bank_ok.c");
    let said = scratch.run(["test", "--budget", "10s", "--", "./bank_ok"]).expect(0).says("no findings\ncovered: ");
    said.says("of 3 threads in the recorded run").says("runs under other schedules");
}
