//! Trace files that are none, or no longer whole.

use std::fs;

use crate::common::{Done, Scratch};

/// Bytes without a pattern, the same every time (xorshift).
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Every command that reads a trace.
fn readers(scratch: &Scratch, file: &str) -> Vec<(String, Done)> {
    let commands: [&[&str]; 6] = [
        &["inspect", file],
        &["inspect", file, "--events"],
        &["replay", file],
        &["predict", file],
        &["convert", file, "out.jsonl"],
        &["convert", file, "out.std"],
    ];
    commands.iter().map(|words| (words.join(" "), scratch.run(*words))).collect()
}

#[test]
fn trace_file_of_random_bytes() {
    let scratch = Scratch::new("day");
    for (seed, len) in [(1, 0), (2, 1), (3, 7), (4, 8), (5, 100), (6, 100_000)] {
        fs::write(scratch.join("noise.rwt"), noise(seed, len)).expect("a file");
        for (words, done) in readers(&scratch, "noise.rwt") {
            assert_eq!(done.code, Some(2), "{words}, {len} bytes: {done:?}");
            assert!(done.stderr.contains("noise.rwt"), "{words}, {len} bytes: {done:?}");
            assert!(!done.stderr.contains("panicked"), "{words}, {len} bytes: {done:?}");
        }
    }
}

#[test]
fn trace_file_that_is_not_there() {
    let scratch = Scratch::new("day");
    for (words, done) in readers(&scratch, "missing.rwt") {
        assert_eq!(done.code, Some(2), "{words}: {done:?}");
        assert!(done.stderr.contains("missing.rwt"), "{words}: {done:?}");
    }
}

#[test]
fn trace_file_that_was_cut_or_damaged() {
    let scratch = Scratch::new("day");
    let program = scratch.build("golden/mutex/bank_ok.c");
    let program = program.to_str().expect("ASCII");
    scratch.run(["record", "-o", "whole.rwt", "--", program]).expect(0);
    let whole = fs::read(scratch.join("whole.rwt")).expect("a trace");
    let mut damaged = vec![];
    for part in 1..8 {
        damaged.push(whole[..whole.len() * part / 8].to_vec());
    }
    for seed in 0..12 {
        let mut bytes = whole.clone();
        let at = bytes.len() * (seed * 2 + 1) / 24;
        let hit = noise(seed as u64 + 1, 16);
        let end = (at + hit.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&hit[..end - at]);
        damaged.push(bytes);
    }
    for (n, bytes) in damaged.iter().enumerate() {
        fs::write(scratch.join("hurt.rwt"), bytes).expect("a file");
        for words in
            [["inspect", "hurt.rwt"].as_slice(), &["inspect", "hurt.rwt", "--events"], &["predict", "hurt.rwt"]]
        {
            let done = scratch.run(words);
            assert!(matches!(done.code, Some(0..=2)), "{words:?} of damage {n}: {done:?}");
            assert!(!done.stderr.contains("panicked"), "{words:?} of damage {n}: {done:?}");
            if done.code == Some(2) {
                assert!(done.stderr.contains("hurt.rwt"), "{words:?} of damage {n}: {done:?}");
            }
        }
    }
}
