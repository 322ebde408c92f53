//! A disk that fills up while recording.

mod common;

use common::listing;
use reweave_model::*;
use reweave_trace::{Error, Meta, Trace, TraceBuilder};

/// A full disk: what was written before stays readable, and the writer says why it stopped.
#[test]
fn a_full_disk_keeps_what_was_written() {
    let limit = 4000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.rwt");
    let mut b = TraceBuilder::create(&path, &Meta::default()).unwrap().chunk_words(60);
    // The file-size limit of the process stands for the disk; this file has one test so that no other
    // one writes meanwhile.
    set_file_size_limit(limit);
    let mut pushed = 0u64;
    let error = loop {
        let (addr, value) = (Addr(pushed * 64), Value::Word(pushed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        match b.push(ThreadId(0), Pc(1), Op::Write { addr, size: 8, value, flags: AccessFlags(0) }) {
            Ok(()) => pushed += 1,
            Err(error) => break error,
        }
        assert!(pushed < 10_000, "the limit should have been reached");
    };
    set_file_size_limit(u64::MAX);
    assert!(error.is_disk_full(), "{error}");
    assert!(matches!(b.push(ThreadId(0), Pc(1), Op::End), Err(Error::Stopped)));
    let trace = Trace::open(&path).unwrap();
    let events = listing(&trace);
    assert!(events.len() > 20 && (events.len() as u64) < pushed);
    assert_eq!(trace.damage(), [], "the last chunk is whole");
}

fn set_file_size_limit(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: both calls only change this process's limits and signal disposition.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}
