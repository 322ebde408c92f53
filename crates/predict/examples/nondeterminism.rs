//! Nondeterministic reads of one trace, by both rules: how long they take, and the columns of the paper's Table A1.
//!
//!     cargo run --release -p reweave-predict --example nondeterminism -- TRACE [SECONDS]
//!
//! The published rule over all possible witnesses, the exact rule by pairs of lines (what `reweave predict` does), and
//! the exact rule for every read and every other write of its cell, for at most so many seconds (default 60).

use std::error::Error;
use std::time::{Duration, Instant};

use reweave_predict::analyses::nondeterminism::NondeterministicReads;
use reweave_predict::search::nondeterminism::views::{Verdict, Views};
use reweave_predict::search::nondeterminism::{self, Options, published};
use reweave_predict::{Analysis, SearchLimits, lower};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let trace = reweave_trace::open(arguments.next().ok_or("name a trace")?)?;
    let seconds: u64 = arguments.next().map_or(Ok(60), |word| word.parse())?;
    let window = lower::whole(&trace)?;
    let history = &window.history;
    println!("{} events, {} kept, {} threads", trace.event_count(), history.steps.len(), history.threads.len() - 1);

    let began = cpu();
    let mut stats = published::Stats::default();
    published::witnesses(history, &mut stats, &mut |_, _| true);
    println!("published rule, all witnesses: {:?} (paper, at this size: 243 s)", cpu() - began);
    for (name, value) in stats.numbers() {
        println!("  {:<34} {value}", name.replace('_', " "));
    }

    let began = cpu();
    let found = nondeterminism::exact(
        &trace,
        NondeterministicReads.id(),
        Options::default(),
        &SearchLimits::default(),
        &mut |_| (),
    )?;
    println!("exact rule, by pairs of lines: {:?}, {} findings", cpu() - began, found.findings.len());
    println!("  {:?}", found.stats);

    let (began, until) = (cpu(), Instant::now() + Duration::from_secs(seconds));
    let views = Views::new(history);
    let (mut pairs, mut asked, mut seen, mut left) = (0u64, 0u64, 0u64, 0u64);
    let limits = SearchLimits { deadline: Some(until), ..SearchLimits::default() };
    for couple in published::couples(history) {
        let Some(read) = couple.reader else { continue };
        let writers = std::iter::once(None).chain(views.writers(couple.cell).map(Some));
        for writer in writers.filter(|writer| *writer != couple.writer && *writer != Some(read)) {
            pairs += 1;
            if !views.may_see(read, couple.cell, writer) {
                continue;
            }
            if Instant::now() > until {
                left += 1;
                continue;
            }
            asked += 1;
            seen += u64::from(matches!(views.ask(read, couple.cell, writer, &limits), Verdict::Sees(_)));
        }
    }
    println!(
        "exact rule, all pairs: {:?}, {pairs} pairs, {asked} asked, {seen} seen, {left} left when the time was over",
        cpu() - began
    );
    Ok(())
}

/// CPU time of this process: on a shared machine the clock on the wall says little.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0))
}
