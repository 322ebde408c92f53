//! Traces that cannot have happened are refused, with the place.

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, ThreadId, Value};
use reweave_predict::analyses::hb::HbRaces;
use reweave_predict::linear::run;
use reweave_trace::{TraceBuilder, open};

const WRITE: Op<'static> = Op::Write { addr: Addr(64), size: 8, value: Value::Word(1), flags: AccessFlags(0) };
const ACQUIRE: Op<'static> = Op::Acquire { object: ObjectId(16), mode: LockMode::Exclusive, tried: false };
const RELEASE: Op<'static> = Op::Release { object: ObjectId(16), mode: LockMode::Exclusive };

fn message(steps: &[(u32, Op<'static>)]) -> String {
    let mut builder = TraceBuilder::default();
    for &(thread, op) in steps {
        builder.push(ThreadId(thread), Pc(1), op).expect("memory takes every write");
    }
    let trace = builder.into_trace().expect("memory takes every write");
    run(&trace, &mut HbRaces::default(), &mut |_| true).expect_err("nonsense is refused").to_string()
}

#[test]
fn nonsense_is_refused_with_its_event() {
    let fork = Op::Fork { child: ThreadId(1), nth: 0 };
    let join = Op::Join { child: ThreadId(1) };
    let cases: [(&[(u32, Op<'static>)], &str); 9] = [
        (&[(0, Op::Begin), (0, RELEASE)], "event 1: thread 0 releases lock 0x10, which it does not hold"),
        (&[(0, ACQUIRE), (1, WRITE), (1, ACQUIRE)], "event 2: thread 1 acquires lock 0x10, which is held against it"),
        (&[(0, Op::Begin), (0, Op::End), (0, WRITE)], "event 2: thread 0 acts after its end"),
        (&[(0, Op::Begin), (5, WRITE)], "event 1: thread 5 was neither forked nor begun"),
        (&[(0, Op::Begin), (0, fork), (1, WRITE)], "event 2: thread 1 acts before its begin"),
        (&[(0, fork), (0, fork)], "event 1: thread 1 is forked but exists already"),
        (&[(0, fork), (0, join), (1, WRITE)], "event 2: thread 1 acts after it was joined"),
        (&[(0, join)], "event 0: thread 1 is joined but was never forked"),
        (&[(0, Op::Begin), (0, fork), (1, Op::Begin), (0, join)], "event 3: thread 1 is joined but has not ended"),
    ];
    for (steps, expected) in cases {
        let message = message(steps);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn nonsense_text_is_refused_with_its_line() {
    let cases = [
        ("A|acq(l)|1\nB|acq(l)|2\n", ":2: acquires lock l, which thread A holds"),
        ("A|acq(l)|1\nB|w(x)|1\nB|rel(l)|2\n", ":3: releases lock l, which it does not hold"),
        ("A|fork(B)|1\nB|w(x)|1\nA|join(B)|2\nB|w(x)|3\n", ":4: thread B acts after it was joined"),
        ("A|join(B)|1\n", ":1: thread B is joined but was never forked"),
    ];
    let path = std::env::temp_dir().join(format!("reweave-refused-{}.std", std::process::id()));
    for (text, expected) in cases {
        std::fs::write(&path, text).expect("a file for text");
        let message = open(&path).err().unwrap_or_else(|| panic!("{text} is not refused")).to_string();
        assert!(message.contains(expected), "{message}");
    }
    std::fs::remove_file(&path).ok();
}
