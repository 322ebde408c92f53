//! What a live analysis costs apart from the program: gives the chunks of a recorded trace to it, once.
//!
//!     watch TRACE hb,lockset [--sample]
//!
//! `none` is the front end alone, `reading` only reads the trace, which is no part of watching.
//! Prints the events and the processor time in seconds. Run it under `perf stat -e instructions:u` for a number that
//! the load of the machine does not touch (`cargo xtask bench watch` does).

use std::time::Instant;

use reweave_predict::live::{Live, Options};
use reweave_trace::Trace;

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(names)) = (args.next(), args.next()) else {
        eprintln!("usage: watch TRACE ANALYSIS,… [--sample]");
        std::process::exit(2);
    };
    let sample = args.any(|arg| arg == "--sample");
    let find = |name: &str| reweave_predict::find(name).filter(|analysis| analysis.watching().is_some());
    let wanted = names.split(',').filter(|name| !["none", "reading"].contains(name));
    let Some(analyses) = wanted.map(find).collect::<Option<Vec<_>>>() else {
        eprintln!("not all of `{names}` can watch, in this build");
        std::process::exit(3);
    };
    let trace = match Trace::open(&path) {
        Ok(trace) => trace,
        Err(error) => {
            eprintln!("{path}: {error}");
            std::process::exit(2);
        }
    };
    if names == "reading" {
        let mut chunks = trace.events();
        while chunks.next_chunk().is_some() {}
        println!("{} events 0 s", trace.event_count());
        return;
    }
    let mut live = Live::new(&Options { analyses, sample, check: false, every_access: false });
    let mut chunks = trace.events();
    let (mut took, mut told) = (0.0, 0);
    while let Some(chunk) = chunks.next_chunk() {
        let start = Instant::now();
        told += live.chunk(chunk.words, chunk.thread).expect("a recorded trace").len();
        took += start.elapsed().as_secs_f64();
    }
    told += live.finish().len();
    println!("{} events {took:.3} s {told} sightings", live.events());
}
