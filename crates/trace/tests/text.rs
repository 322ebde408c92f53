//! Text formats, there and back.

mod common;

use std::path::{Path, PathBuf};

use common::{every_op, listing};
use reweave_model::*;
use reweave_trace::check::check;
use reweave_trace::{Footer, Meta, Outcome, Trace, TraceBuilder, convert, open, schedule_of};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn every_event(path: &Path) {
    let meta = Meta { program: vec!["./a, b".into()], seed: 5, ..Meta::default() };
    let mut b = TraceBuilder::create(path, &meta).unwrap();
    b.define_stack(StackId(1), StackId(0), Pc(0x1000)).unwrap();
    b.define_stack(StackId(2), StackId(1), Pc(0x2000)).unwrap();
    for (i, op) in every_op().into_iter().enumerate() {
        let thread = ThreadId(i as u32 % 3);
        b.set_stack(thread, StackId(i as u32 / 4 % 3));
        b.push(thread, Pc(0x40_0000 + i as u64), op).unwrap();
    }
    let footer = Footer { outcome: Outcome::Signalled { signal: 6, core: true }, ..Footer::default() };
    b.finish(footer, None).unwrap();
}

#[test]
fn ours_lose_nothing() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    every_event(&at("a.rwt"));
    let original = Trace::open(at("a.rwt")).unwrap();
    for extension in ["csv", "jsonl", "rwt"] {
        let (text, back) = (at(&format!("b.{extension}")), at(&format!("c-{extension}.rwt")));
        assert!(convert(at("a.rwt"), &text).unwrap().is_empty());
        convert(&text, &back).unwrap();
        for path in [&text, &back] {
            let trace = open(path).unwrap();
            assert_eq!(trace.damage(), []);
            assert_eq!(listing(&trace), listing(&original), "{path:?}");
            assert_eq!(trace.meta(), original.meta());
            assert_eq!(trace.footer(), original.footer());
            assert_eq!(trace.stacks().resolve(StackId(2)), [Pc(0x2000), Pc(0x1000)]);
        }
    }
}

#[test]
fn lost_events_stay_lost() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let mut b = TraceBuilder::create(at("a.rwt"), &Meta::default()).unwrap();
    b.op(0, Op::Begin).skip_to(EventId(10)).unwrap();
    b.op(0, Op::End);
    b.finish(Footer::default(), None).unwrap();
    for name in ["b.csv", "c.jsonl", "d.rwt"] {
        convert(at("a.rwt"), at(name)).unwrap();
        let ids: Vec<u64> = listing(&open(at(name)).unwrap()).iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [0, 10], "{name}");
    }
}

const STD: &str = "\
T3|w(x)|0
T3|fork(Tb)|1
Tb|acq(L)|2
Tb|acq(L)|3
Tb|r(x)|4
Tb|w(x)|Main.java:7
Tb|rel(L)|5
Tb|rel(L)|6
T3|begin|7
T3|acq(L)|8
T3|r(x)|9
T3|rel(L)|10
T3|end()|11
T3|join(Tb)|12
";

#[test]
fn std_comes_in_as_a_trace() {
    let folder = folder();
    let path = folder.path().join("x.std");
    std::fs::write(&path, STD).unwrap();
    std::fs::write(folder.path().join("x.std.loc"), "4 pkg/Main.run:44\n").unwrap();
    let trace = open(&path).unwrap();
    assert!(trace.meta().abstract_values);
    let ops: Vec<String> = listing(&trace).into_iter().map(|(_, event)| event).collect();
    assert_eq!(ops.len(), 12, "the inner acquire and its release are no events");
    let values: Vec<u64> = {
        let (mut events, mut values) = (trace.events(), Vec::new());
        while let Some(event) = events.next().unwrap() {
            if let Op::Read { value: Value::Word(v), .. } | Op::Write { value: Value::Word(v), .. } = event.op {
                values.push(v);
            }
        }
        values
    };
    assert_eq!(values, [1, 1, 2, 2], "each write its own value, each read the last one");
    let place = trace.symbols().place(Pc(5));
    assert_eq!((place.file.as_str(), place.line, place.function.as_str()), ("pkg/Main", 44, "pkg/Main.run"));
    let report = check(&trace).unwrap();
    assert!(report.is_consistent(), "{:?}", report.inconsistencies);
    assert_eq!(report.unexplained_reads(), 0);
    assert_eq!(schedule_of(&trace).unwrap().threads, [ThreadName::MAIN, ThreadName { parent: 0, nth: 0 }]);
}

#[test]
fn std_goes_out_with_its_names() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("x.std"), STD).unwrap();
    convert(at("x.std"), at("y.rwt")).unwrap();
    assert!(convert(at("y.rwt"), at("z.std")).unwrap().is_empty());
    let expected = STD.replace("Tb|acq(L)|3\n", "").replace("Tb|rel(L)|5\n", "").replace("|begin|", "|begin()|");
    assert_eq!(std::fs::read_to_string(at("z.std")).unwrap(), expected);
}

#[test]
fn what_std_cannot_say_is_counted() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    every_event(&at("a.rwt"));
    let left_out = convert(at("a.rwt"), at("b.std")).unwrap();
    assert_eq!(
        (left_out.get("barrier_arrive"), left_out.get("acquire"), left_out.get("read")),
        (Some(&1), Some(&1), None)
    );
    let text = std::fs::read_to_string(at("b.std")).unwrap();
    assert!(text.contains("|acq(atomic_0x7f00deadbeef)|"), "{text}");
}

#[test]
fn lines_that_are_there_twice_are_left_out_with_a_warning() {
    let folder = folder();
    let path = folder.path().join("twice.std");
    let text = "T0|fork(T1)|1\nT1|w(V1)|2\nT0|fork(T1)|1\nT0|join(T1)|3\nT0|join(T1)|3\nT0|r(V1)|4\n";
    std::fs::write(&path, text).expect("written");
    let trace = open(&path).expect("it is read");
    assert_eq!(trace.event_count(), 4);
    let warnings = trace.footer().expect("a footer").warnings.join("\n");
    assert!(warnings.contains("2 lines are there word for word before"), "{warnings}");
    // Another place is another event: that cannot be.
    std::fs::write(&path, "T0|fork(T1)|1\nT0|fork(T1)|2\n").expect("written");
    assert!(open(&path).is_err_and(|error| error.to_string().contains(":2: ")));
}

#[test]
fn errors_name_the_line() {
    let folder = folder();
    let csv = "event,thread,pc,stack,op,operands\n";
    for (name, text, line, part) in [
        ("a.std", "T0|w(x)|0\nT0|fly(x)|1\n", 2, "unknown operation"),
        ("a.std", "T0|w(x)\n", 1, "expected `thread|op(operand)|location`"),
        ("a.std", "\n\nT0|rel(L)|4\n", 3, "does not hold"),
        ("a.std", "T0|end|4\n", 1, "without `begin`"),
        ("a.std", "T0|fork(T1)|4\nT0|fork(T1)|5\n", 2, "forked before"),
        ("a.std", "T0|r()|4\n", 1, "needs an operand"),
        ("a.csv", "id,thread\n", 1, "first line"),
        ("a.csv", &format!("{csv}0,0,0x0,0,begin\n"), 2, "six columns"),
        ("a.csv", &format!("{csv}0,0,0x0,0,fly,\n"), 2, "unknown operation `fly`"),
        ("a.csv", &format!("{csv}0,0,0x0,0,read,addr=5\n"), 2, "`size` is missing"),
        ("a.csv", &format!("{csv}0,0,0x0,0,join,child=x\n"), 2, "not a number"),
        ("a.csv", &format!("{csv}5,0,0x0,0,begin,\n5,0,0x0,0,end,\n"), 3, "numbers must grow"),
        ("a.jsonl", "{\"event\":0}\n", 1, "`op` is missing"),
        ("a.jsonl", "{\"reweave\":\"trace\",\"version\":1,\"meta\":{}}\nnonsense\n", 2, "not JSON"),
        ("a.jsonl", "{\"reweave\":\"trace\",\"version\":9}\n", 1, "newer than this build"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let message = open(&path).err().unwrap_or_else(|| panic!("{text:?} should fail")).to_string();
        assert!(message.contains(&format!("{name}:{line}: ")) && message.contains(part), "{text:?}: {message}");
    }
    let message = convert(folder.path().join("a.std"), folder.path().join("b.xml")).unwrap_err().to_string();
    assert!(message.contains("use .rwt, .std, .csv or .jsonl"), "{message}");
}

/// Traces from elsewhere; the folder comes from the environment.
#[test]
fn corpus_comes_in_whole() {
    let Some(corpus) = std::env::var_os("REWEAVE_CORPUS") else {
        eprintln!("left out: REWEAVE_CORPUS is not set");
        return;
    };
    let (mut seen, mut folders) = (0, vec![PathBuf::from(corpus)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".loc") || name.ends_with(".md") || name == "LICENSE" {
                continue;
            }
            let trace = open(&path).unwrap();
            let report = check(&trace).unwrap();
            assert!(report.is_consistent(), "{name}: {:?}", &report.inconsistencies[..1]);
            assert_eq!(report.unexplained_reads(), 0, "{name}");
            seen += 1;
        }
    }
    assert!(seen > 0);
    println!("{seen} traces");
}

#[test]
fn what_a_text_calls_things_is_known() {
    let folder = folder();
    let path = folder.path().join("named.std");
    std::fs::write(
        &path,
        "main|fork(T1)|1\nmain|acq(door)|2\nmain|w(balance)|3\nmain|rel(door)|4\nT1|acq(7)|5\nT1|r(9)|6\n",
    )
    .unwrap();
    let trace = open(&path).unwrap();
    let name = |at: u64| trace.symbols().variable(Addr(at)).map(|variable| variable.name.to_owned());
    let mut named = Vec::new();
    let mut events = trace.events();
    while let Some(event) = events.next().unwrap() {
        match event.op {
            Op::Acquire { object, .. } => named.extend(name(object.0)),
            Op::Read { addr, .. } | Op::Write { addr, .. } => named.extend(name(addr.0)),
            _ => {}
        }
    }
    assert_eq!(named, ["door", "balance", "lock 7", "variable 9"]);
    assert_eq!(trace.blocks().thread_name(ThreadId(0)), Some("main"));
    assert_eq!(trace.blocks().thread_name(ThreadId(1)), None, "thread 1 is what it is called anyway");
}
