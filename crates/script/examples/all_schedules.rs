//! All that the schedules of a program can do, as JSON: of a file, or of the random program of a seed, whose text comes
//! first.

use std::env;
use std::process::ExitCode;

use reweave_script::language::parse;
use reweave_script::testing::enumerate::enumerate;
use reweave_script::testing::random::{ProgramSize, sketch};
use reweave_script::testing::write;

fn main() -> ExitCode {
    let what = env::args().nth(1).unwrap_or_default();
    let text = match what.parse() {
        Ok(seed) => write(&sketch(seed, ProgramSize::default())),
        Err(_) => match std::fs::read_to_string(&what) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{what}: {error}: name a file or a seed");
                return ExitCode::FAILURE;
            }
        },
    };
    if what.parse::<u64>().is_ok() {
        println!("{text}");
    }
    let program = match parse(&what, &text) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let all = enumerate(&program, 60_000);
    let stuck: Vec<Vec<u32>> =
        all.deadlocks.iter().map(|waiting| waiting.iter().map(|wait| wait.line).collect()).collect();
    let races: Vec<[u32; 2]> = all.races.iter().map(|&(one, other)| [one, other]).collect();
    println!(
        "{{\"complete\":{},\"classes\":{},\"failures\":{:?},\"deadlocks\":{stuck:?},\"races\":{races:?},\"states\":{}}}",
        all.complete,
        all.classes.len(),
        all.failures.iter().collect::<Vec<_>>(),
        all.states
    );
    ExitCode::SUCCESS
}
