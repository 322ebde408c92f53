//! Small traces that tell the analyses apart, `thread op operand` by line; the line is the code position. Fig. 4 is the
//! paper's own; the others follow from the definitions.

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, ThreadId, Value};
use reweave_trace::{Trace, TraceBuilder};

use super::{CpRaces, HbRaces, LocksetRaces, ShbRaces, SyncpRaces, WcpRaces, found};

/// `1 w x`, `2 acq l`, `1 fork 2`, `2 branch`…; threads but the first are forked or just there.
fn trace(text: &str) -> Trace {
    let mut builder = TraceBuilder::default();
    for (line, pc) in text.trim().lines().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let thread: u32 = words[0].parse().expect("a thread");
        let operand = words.get(2).copied().unwrap_or_default();
        let number = operand.bytes().fold(0, |number, byte| number * 64 + u64::from(byte % 64));
        let (addr, object) = (Addr(0x1000 + 8 * number), ObjectId(0x9_0000 + 8 * number));
        let (size, value, flags, mode) = (8, Value::Word(0), AccessFlags(0), LockMode::Exclusive);
        let op = match words[1] {
            "r" => Op::Read { addr, size, value, flags },
            "w" => Op::Write { addr, size, value, flags },
            "acq" => Op::Acquire { object, mode, tried: false },
            "rel" => Op::Release { object, mode },
            "fork" => Op::Fork { child: ThreadId(operand.parse().expect("a thread")), nth: 0 },
            "join" => Op::Join { child: ThreadId(operand.parse().expect("a thread")) },
            "branch" => Op::Branch,
            other => panic!("no operation {other}"),
        };
        builder.push(ThreadId(thread), Pc(pc), op).expect("memory takes every write");
    }
    builder.into_trace().expect("memory takes every write")
}

/// Pairs of hb, shb, cp, wcp, syncp, lockset.
fn all(text: &str) -> [Vec<(u64, u64)>; 6] {
    let trace = trace(text);
    [
        found(&trace, HbRaces::default()),
        found(&trace, ShbRaces::default()),
        found(&trace, CpRaces::default()),
        found(&trace, WcpRaces::default()),
        found(&trace, SyncpRaces::default()),
        found(&trace, LocksetRaces::default()),
    ]
    .map(|pairs| pairs.into_iter().collect())
}

const NONE: Vec<(u64, u64)> = Vec::new();

/// Only the first race of happens-before is one: the write of x is there only if the flag was seen.
#[test]
fn flag_and_branch() {
    let pairs = all("1 w x\n1 w y\n2 r y\n2 branch\n2 w x");
    let (both, first) = (vec![(1, 5), (2, 3)], vec![(2, 3)]);
    assert_eq!(pairs, [both.clone(), first.clone(), both.clone(), both.clone(), first, both]);
}

/// Fig. 4 of the maximal model: a race (3,10) that only control flow shows.
#[test]
fn maximal_figure_4() {
    let text = "1 fork 2\n1 acq l\n1 w x\n1 w y\n1 rel l\n2 branch\n2 acq l\n2 r y\n2 rel l\n2 r x\n2 branch\n2 w z\n\
                2 branch\n1 join 2\n1 r z\n1 branch";
    assert_eq!(all(text), [NONE, NONE, NONE, NONE, NONE, vec![(3, 10)]]);
}

/// The same with lines 1 and 2 swapped: no race, but the quick check cannot know.
#[test]
fn maximal_figure_1_swapped() {
    let text = "1 acq l\n1 fork 2\n1 w x\n1 w y\n1 rel l\n2 branch\n2 acq l\n2 r y\n2 rel l\n2 r x\n2 branch\n2 w z\n\
                2 branch\n1 join 2\n1 r z\n1 branch";
    assert_eq!(all(text), [NONE, NONE, NONE, NONE, NONE, vec![(3, 10)]]);
}

/// Sections without a conflict order nothing but for happens-before.
#[test]
fn unrelated_sections() {
    let text = "1 w y\n1 acq l\n1 w x\n1 rel l\n2 acq l\n2 r z\n2 rel l\n2 r y";
    let race = vec![(1, 8)];
    assert_eq!(all(text), [NONE, NONE, race.clone(), race.clone(), race.clone(), race]);
}

/// The conflict in the second section comes after the access in question, so that only CP's edge into the acquisition
/// orders it.
#[test]
fn wcp_beyond_cp() {
    let text = "1 w y\n1 acq l\n1 w x\n1 rel l\n2 acq l\n2 r y\n2 r x\n2 rel l";
    let race = vec![(1, 6)];
    assert_eq!(all(text), [NONE, NONE, NONE, race.clone(), race.clone(), race]);
}

/// A conflict in front of the access orders for CP and WCP, and keeps the section for SyncP: its read is needed.
#[test]
fn conflict_before_ok() {
    let text = "1 w y\n1 acq l\n1 w x\n1 rel l\n2 acq l\n2 r x\n2 r y\n2 rel l";
    assert_eq!(all(text), [NONE, NONE, NONE, NONE, NONE, vec![(1, 7)]]);
}

/// Two writes conflict for WCP; a sync-preserving reordering just leaves the first section out.
#[test]
fn syncp_beyond_wcp() {
    let text = "1 w y\n1 acq l\n1 w x\n1 rel l\n2 acq l\n2 w x\n2 rel l\n2 w y";
    let race = vec![(1, 8)];
    assert_eq!(all(text), [NONE, NONE, NONE, NONE, race.clone(), race]);
}

/// The second section must come first: predictable, but not with the sections in their order.
#[test]
fn reversed_sections_bad() {
    let text = "1 acq l\n1 w x\n1 w y\n1 rel l\n2 acq l\n2 w z\n2 rel l\n2 w y";
    let [_, _, cp, wcp, syncp, lockset] = all(text);
    assert_eq!((cp, wcp), (vec![(3, 8)], vec![(3, 8)]));
    assert_eq!(syncp, NONE, "the first section is open at its access and the second needs it closed");
    assert_eq!(lockset, vec![(3, 8)]);
}
