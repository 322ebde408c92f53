//! Nothing is lost on the way: what is read ahead, many threads, very long accesses.

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, ThreadId, Value};
use reweave_predict::linear::{Front, Linear, run, run_beside, run_on};
use reweave_trace::{Meta, Result, Trace, TraceBuilder, convert, open_beside};

use super::{CpRaces, HbRaces, LocksetRaces, ShbRaces, SyncpRaces, WcpRaces};

fn write(word: u64) -> Op<'static> {
    Op::Write { addr: Addr(64 + 8 * word), size: 8, value: Value::Word(1), flags: AccessFlags(0) }
}

#[test]
fn every_pair_of_many_threads_is_found() {
    // More than a byte can count, so that some slots are near and some far.
    const THREADS: u32 = 300;
    let mut builder = TraceBuilder::default();
    for _ in 0..2 {
        for thread in (0..THREADS).rev() {
            builder.push(ThreadId(thread), Pc(1000 + u64::from(thread)), write(0)).expect("memory");
        }
    }
    let trace = builder.into_trace().expect("memory takes every write");
    let mut hb = HbRaces::default();
    run(&trace, &mut hb, &mut |_| true).expect("a sound trace");
    let found = hb.finish();
    // Each thread has a position of its own.
    assert_eq!(found.pairs.len() as u32, THREADS * (THREADS - 1) / 2);
    assert_eq!(found.dropped, 0);
}

#[test]
fn words_of_very_long_accesses_are_counted() {
    let mut builder = TraceBuilder::default();
    let long = Op::Write { addr: Addr(1 << 30), size: 2 << 20, value: Value::Unknown, flags: AccessFlags(0) };
    builder.push(ThreadId(0), Pc(1), long).expect("memory takes every write");
    let trace = builder.into_trace().expect("memory takes every write");
    let mut all: Vec<Box<dyn Linear>> = vec![
        Box::<HbRaces>::default(),
        Box::<ShbRaces>::default(),
        Box::<LocksetRaces>::default(),
        Box::<WcpRaces>::default(),
        Box::<SyncpRaces>::default(),
        Box::<CpRaces>::default(),
    ];
    run(&trace, &mut all, &mut |_| true).expect("a sound trace");
    for analysis in &mut all {
        assert_eq!(analysis.finish().dropped, (2 << 20) / 8);
    }
}

/// Several chunks, with a race every now and then.
fn long_trace(path: &std::path::Path) -> u64 {
    const EVENTS: u64 = 300_000;
    let mut builder = TraceBuilder::create(path, &Meta::default()).expect("a file for the trace");
    let (object, mode) = (ObjectId(16), LockMode::Exclusive);
    while builder.next_event().0 < EVENTS {
        let step = builder.next_event().0;
        let thread = ThreadId((step / 4 % 5) as u32);
        let pc = |kind: u64| Pc(100 * kind + step / 7 % 50);
        if step.is_multiple_of(1001) {
            builder.push(thread, pc(1), write(step / 3 % 11)).expect("a file takes every write");
        }
        builder.push(thread, Pc(1), Op::Acquire { object, mode, tried: false }).expect("a file takes every write");
        builder.push(thread, pc(2), write(step % 11)).expect("a file takes every write");
        builder.push(thread, Pc(2), Op::Release { object, mode }).expect("a file takes every write");
    }
    let events = builder.next_event().0;
    builder.finish(reweave_trace::Footer::default(), None).expect("a file takes every write");
    events
}

#[test]
fn reading_ahead_changes_nothing() {
    let folder = std::env::temp_dir().join(format!("reweave-whole-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let (ours, text) = (folder.join("long.rwt"), folder.join("long.std"));
    let events = long_trace(&ours);
    convert(&ours, &text).expect("STD has all of it");
    let trace = Trace::open(&ours).expect("it was just written");
    assert!(trace.chunk_count() > 3, "not worth reading ahead");
    let [mut plain, mut ahead, mut plain_text, mut text_beside] = std::array::from_fn(|_| HbRaces::default());
    let beside = |found: &mut HbRaces| -> Result<(Trace, Option<u64>)> {
        let (trace, seen) = open_beside(&text, 2, |texts| {
            // The others stop early, which is nobody's business but theirs.
            let one = texts.into_iter().next().expect("there are two");
            run_beside(one, &text, found, &mut |_| true)
        })?;
        Ok((trace, seen.transpose()?))
    };
    let (converted, seen_beside) = beside(&mut text_beside).expect("a sound text");
    let seen = [
        run_on(trace.events(), Front::of(&trace).expect("readable"), &mut plain, &mut |_| true),
        run(&trace, &mut ahead, &mut |_| true),
        run(&converted, &mut plain_text, &mut |_| true),
    ];
    assert_eq!(seen.map(|seen| seen.expect("a sound trace")), [events; 3]);
    assert!(seen_beside.is_none_or(|seen| seen == events), "a reader sees all of it");
    let found = plain.finish();
    assert!(found.pairs.len() > 10);
    assert_eq!(found, ahead.finish());
    let found_in_text = plain_text.finish();
    assert_eq!(found_in_text.pairs.len(), found.pairs.len());
    if std::thread::available_parallelism().is_ok_and(|count| count.get() > 1) {
        assert_eq!(found_in_text, text_beside.finish());
    }

    // An error in the middle.
    let mut lines = std::fs::read_to_string(&text).expect("it was just written");
    lines.push_str("T0|nonsense(x)|1\n");
    std::fs::write(&text, lines).expect("a file for text");
    let error = beside(&mut HbRaces::default()).err().expect("it is refused");
    assert!(error.to_string().contains(&format!(":{}: unknown operation", events + 1)), "{error}");
    std::fs::remove_dir_all(&folder).ok();
}
