//! `cargo xtask bench ranks`: what looking at programs of many ranks costs, and how the analysis grows with their number.
//!
//! One program (`benches/spmd/costs.c`) tells nanoseconds per put, load, load of the window, and barrier: plain, recorded
//! and watched in turn, and the least of all turns counts, because machines are shared. Then the table of
//! `crates/spmd/examples/scale.rs`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Turns; each program runs once in each.
const TURNS: usize = 15;
const RANKS: &str = "2";
const PARTS: [&str; 4] = ["put", "load", "shared", "barrier"];

pub fn run(root: &Path) -> io::Result<()> {
    let folder = root.join("target/bench");
    fs::create_dir_all(&folder)?;
    let reweave = root.join("target/release/reweave");
    let source = root.join("benches/spmd/costs.c");
    let (plain, built) = (folder.join("costs.plain"), folder.join("costs.reweave"));
    let found = Command::new("mpicc").args(["-O2", "-g", "-o"]).arg(&plain).arg(&source).status();
    if !found.is_ok_and(|status| status.success()) {
        println!("no costs are measured: there is no mpicc (apt install libopenmpi-dev openmpi-bin)");
        return Ok(());
    }
    let mut build = Command::new(&reweave);
    build.args(["cc", "-O2", "-g", "-o"]).arg(&built).arg(&source).env("REWEAVE_CC", "mpicc");
    if !build.status()?.success() {
        return Err(io::Error::other("reweave cc cannot build the program"));
    }
    let mut least = [[f64::INFINITY; PARTS.len()]; 3];
    for _ in 0..TURNS {
        for (number, least) in least.iter_mut().enumerate() {
            let mut command = match number {
                0 => Command::new("mpirun"),
                _ => Command::new(&reweave),
            };
            match number {
                1 => drop(command.args(["record", "-o"]).arg(folder.join("costs.run")).args(["--", "mpirun"])),
                2 => drop(command.args(["watch", "--", "mpirun"])),
                _ => {}
            }
            command.args(["-n", RANKS]).arg(if number == 0 { &plain } else { &built });
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            let output = command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").stderr(Stdio::null()).output()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            for (least, part) in least.iter_mut().zip(PARTS) {
                *least = least.min(number_behind(&text, part).unwrap_or(f64::INFINITY));
            }
        }
    }
    println!("{RANKS} ranks, nanoseconds, least of {TURNS} turns\n");
    println!("| | plain | recorded | watched | recorded - plain | watched ÷ plain |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (number, part) in PARTS.iter().enumerate() {
        let [plain, recorded, watched] = least.map(|least| least[number]);
        let more = recorded - plain;
        println!("| {part} | {plain:.1} | {recorded:.1} | {watched:.1} | {more:.1} | {:.2} |", watched / plain);
    }
    println!();
    Ok(())
}

/// `put 12.5 load …`: the number behind the word.
fn number_behind(text: &str, word: &str) -> Option<f64> {
    let mut words = text.split_whitespace().skip_while(|other| *other != word);
    words.nth(1)?.parse().ok()
}
