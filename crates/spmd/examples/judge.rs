//! Judges the logs of ranks in a folder and prints what it finds: one line for each pair of statements.

use std::path::Path;

use reweave_spmd::rules::Verdict;
use reweave_spmd::{logfile, offline};

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let logs = logfile::read_all(Path::new(&folder))?;
    let entries: usize = logs.iter().map(Vec::len).sum();
    let races = offline::analyse(&logs);
    let mut lines: Vec<String> = Vec::new();
    for found in &races.found {
        let place = |access: &reweave_spmd::access::Access| {
            let offset = access.site.0 & 0xffff_ffff_ffff;
            format!("{:?}@{offset:x} rank {}", access.role, access.strand.rank)
        };
        let kind = if found.verdict == Verdict::Race { "race".into() } else { format!("{:?}", found.verdict) };
        lines.push(format!("{kind}: {} / {} on memory of rank {}", place(&found.a), place(&found.b), found.a.owner));
    }
    lines.sort();
    lines.dedup();
    lines.iter().for_each(|line| println!("{line}"));
    println!("{} ranks, {entries} entries, {} findings", logs.len(), races.found.len());
    let certain = races.found.iter().any(|found| found.verdict == Verdict::Race);
    std::process::exit(i32::from(certain));
}
