//! `formulas DIR N`: N random problems as SMT-LIB, and `answers.txt` with what this solver says, for `tests/agree.py`.
//!
//! Half of the clauses of every second problem are hidden and revealed lazily; what is written are the clauses revealed
//! by the end for `unsat` (they alone must be contradictory), and all of them for `sat`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Hidden, Random, Size, random_problem};
use reweave_order::{Budget, Solution, smt, solve, solve_by_search};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, count] = &arguments[..] else {
        return Err(io::Error::other("usage: formulas DIR N"));
    };
    let count: u64 = count.parse().map_err(|_| io::Error::other("N must be a number"))?;
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let mut answers = BufWriter::new(File::create(folder.join("answers.txt"))?);
    let (mut search, mut conflicts, mut time) = (0, 0, Duration::ZERO);
    for seed in 0..count {
        let mut random = Random::new(seed + 1_000_000);
        let nodes = 4 + random.below(40);
        // Few chains make problems that propagation decides, many chains such that need search.
        let chains = if random.chance(30) { 1 + random.below(8.min(nodes)) } else { nodes / 2 + random.below(nodes) };
        let bools = random.below(10);
        // Around the border between satisfiable and not.
        let clauses = 4 * (nodes + bools) + random.below(10 * (nodes + bools));
        let pieces = random_problem(&mut random, &Size { nodes, chains, bools, clauses });
        // Short clauses decide too much at this size.
        let long = pieces.clauses.iter().filter(|clause| clause.len() > 2 || random.chance(10)).cloned().collect();
        let pieces = common::Pieces { clauses: long, ..pieces };
        let visible = if seed % 2 == 0 { pieces.clauses.len() } else { pieces.clauses.len() / 2 };
        let mut problem = pieces.problem(visible);
        let mut lazy = Hidden { clauses: &pieces.clauses[visible..], at_once: 1 + random.below(4) };
        let by = if seed % 4 < 2 { solve } else { solve_by_search };
        let start = Instant::now();
        let (answer, stats) = by(&mut problem, &mut lazy, Budget::default());
        time += start.elapsed();
        search += u64::from(stats.conflicts > 0);
        conflicts += stats.conflicts;
        let word = match answer {
            Solution::Sat(_) => "sat",
            Solution::Unsat => "unsat",
            Solution::Unknown(_) => "unknown",
        };
        let asked = if word == "sat" { pieces.problem(pieces.clauses.len()) } else { problem };
        let mut out = BufWriter::new(File::create(folder.join(format!("{seed}.smt2")))?);
        smt::write(&asked, &mut out)?;
        out.flush()?;
        writeln!(answers, "{seed}.smt2 {word}")?;
    }
    println!("{count} formulas in {time:?}, {search} with conflicts in the search, {conflicts} conflicts");
    Ok(())
}
