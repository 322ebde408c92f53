//! `reweave parallelise`

use std::path::PathBuf;
use std::{fs, panic};

use reweave_launch::exit;
use reweave_script::language::{self, StatementId, StatementKind};
use reweave_statics::parallelise::{Answer, Obstacle, cost, parallelise};
use reweave_statics::{Program, Settings};

use crate::output;

/// Say whether two calls, one after the other, could run at the same time
///
/// The two calls are analysed as if they were threads that are joined right after the second. What is called
/// parallelisable computes the same in any order.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave parallelise work.rwi 14 15\n  \
    reweave parallelise work.rwi --all\n\n\
    Exit codes: 0 parallelisable (--all: some are) · 1 not · 2 usage · 3 nothing to analyse · 4 internal error.")]
pub struct Args {
    /// A .rwi program
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    /// The lines of the two calls
    #[arg(value_name = "LINE", num_args = 2, required_unless_present = "all", conflicts_with = "all")]
    lines: Vec<u32>,
    /// All pairs of neighbouring calls, those that do most first
    #[arg(long)]
    all: bool,
}

pub fn run(args: &Args) -> i32 {
    let path = args.program.display().to_string();
    let is_script = args.program.extension().is_some_and(|ending| ending == "rwi");
    if !is_script {
        eprintln!("reweave: {path}: calls are compared in .rwi programs only");
        return exit::USAGE;
    }
    let name = args.program.file_name().map_or(path.clone(), |name| name.to_string_lossy().into());
    let text = match fs::read_to_string(&args.program) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("reweave: {path}: {error}");
            return exit::USAGE;
        }
    };
    let code = match language::parse(&name, &text) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("reweave: {error}");
            return exit::USAGE;
        }
    };
    match panic::catch_unwind(|| answer(args, &code)) {
        Ok(Ok(code)) => code,
        Ok(Err((why, code))) => {
            eprintln!("reweave: {why}");
            code
        }
        Err(_) => {
            eprintln!("reweave: the analysis failed: this is a bug in reweave");
            exit::INTERNAL
        }
    }
}

/// A call: its line, its statement, and what it calls.
type Call = (u32, StatementId, String);

fn answer(args: &Args, code: &language::Program) -> Result<i32, (String, i32)> {
    let calls: Vec<Call> = code
        .statements()
        .filter_map(|(_, statement)| match &statement.kind {
            StatementKind::Call { function, .. } => {
                Some((statement.position.line, statement.id, code.function(*function).name.clone()))
            }
            _ => None,
        })
        .collect();
    let pairs: Vec<[&Call; 2]> = match args.lines[..] {
        [first, second] => {
            let at = |line: u32| calls.iter().find(|call| call.0 == line);
            let missing = |line: u32| (format!("no call at line {line}"), exit::USAGE);
            vec![[at(first).ok_or_else(|| missing(first))?, at(second).ok_or_else(|| missing(second))?]]
        }
        _ => calls.windows(2).map(|pair| [&pair[0], &pair[1]]).collect(),
    };
    let program = Program::new(code, Settings::default());
    let work = |call: &Call| {
        let frames = program.skeleton.frame_ids();
        let points = frames.map(|frame| reweave_statics::frames::Point { frame, statement: call.1 });
        points.map(|point| cost(&program, point)).sum::<u64>()
    };
    let mut answers: Vec<(u64, [&Call; 2], Answer)> = pairs
        .into_iter()
        .map(|pair| (work(pair[0]).min(work(pair[1])), pair, parallelise(code, pair[0].1, pair[1].1)))
        .filter(|(_, _, answer)| !args.all || *answer != Answer::Not(vec![Obstacle::NotTwoCalls]))
        .collect();
    answers.sort_by_key(|(work, ..)| std::cmp::Reverse(*work));
    if answers.is_empty() {
        return Err(("nothing to analyse: no two calls stand in one block".to_owned(), exit::CANNOT_RUN));
    }
    let printed = output::print(|out| {
        for (work, [first, second], answer) in &answers {
            let what = format!("{}:{} {} and {}:{} {}", code.file, first.0, first.2, code.file, second.0, second.2);
            writeln!(out, "{what}: {} (each at least {work} statements)", headline(answer))?;
        }
        Ok(())
    });
    let any = answers.iter().any(|(_, _, answer)| matches!(answer, Answer::Parallelisable { .. }));
    Ok(if printed != exit::CLEAN || any { printed } else { exit::FINDINGS })
}

fn headline(answer: &Answer) -> String {
    match answer {
        Answer::Parallelisable { private, reductions } => {
            let of = |word: &str, names: &[String]| {
                (!names.is_empty()).then(|| format!("{word}({})", names.join(", "))).into_iter()
            };
            let with: Vec<String> = of("private", private).chain(of("reduction", reductions)).collect();
            match with.is_empty() {
                true => "parallelisable".to_owned(),
                false => format!("parallelisable with {}", with.join(", ")),
            }
        }
        Answer::Not(obstacles) => {
            let all: Vec<String> = obstacles.iter().map(obstacle).collect();
            format!("not: {}", all.join("; "))
        }
    }
}

fn obstacle(one: &Obstacle) -> String {
    match one {
        Obstacle::NotTwoCalls => "they are not two calls in one block, in this order".to_owned(),
        Obstacle::NeedsResult => "the second needs what the first or something between them does".to_owned(),
        Obstacle::Blocks(line) => format!("line {line} may wait for another thread"),
        Obstacle::HoldsLock => "the caller holds a lock".to_owned(),
        Obstacle::Read { line, location } => format!("what line {line} reads of {location} would differ"),
        Obstacle::AtEnd { location } => format!("what is left in {location} would differ"),
        Obstacle::Output { line } => format!("what line {line} prints, or when, would differ"),
        Obstacle::ExitStatus => "the exit status would differ".to_owned(),
        Obstacle::Meet { lines: (one, other), location } => {
            format!("lines {one} and {other} touch {location}, in no order")
        }
        Obstacle::BothPrint { lines: (one, other) } => format!("both print, at lines {one} and {other}"),
        Obstacle::Fails { line } => format!("line {line} may fail, and the other call prints"),
        Obstacle::OtherThread { line, location } => {
            format!("another thread touches {location} at line {line}, maybe at the same time")
        }
        Obstacle::ManyCallers => "several threads may make these calls".to_owned(),
        Obstacle::Unknown => "something in them is not understood".to_owned(),
    }
}
