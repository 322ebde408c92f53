//! `reweave parallelise`

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, panic};

use reweave_launch::exit;
use reweave_script::language::{self, StatementId, StatementKind};
use reweave_statics::java::NoAnswer;
use reweave_statics::java::parallelise::{self as java, Candidate};
use reweave_statics::parallelise::{Answer, Obstacle, cost, parallelise};
use reweave_statics::question::{Question, fits};
use reweave_statics::{Program, Settings};

use crate::output;
use crate::size::parse_time;

/// Say whether two calls, or the turns of a loop, could run at the same time
///
/// They are analysed as if they were threads that are waited for at once. What is called parallelisable computes the
/// same in any order.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave parallelise work.rwi 14 15\n  \
    reweave parallelise work.rwi prepare\n  \
    reweave parallelise work.rwi --all\n  \
    reweave parallelise report.jar Report.java:20\n  \
    reweave parallelise report.jar Report.java:30 Report.java:31\n  \
    reweave parallelise build/classes --main org.bank.Report Report.run\n\n\
    WHAT: the lines of two calls, a method (all calls next to each other and all loops in it), or\n\
    the line of a loop (Java).\n\
    Exit codes: 0 parallelisable (of several: some are) · 1 not · 2 usage · 3 nothing to analyse ·\n\
    4 internal error.")]
pub struct Args {
    /// A .rwi program, or jars, folders of class files, class files; then what to look at
    #[arg(value_name = "PROGRAM|WHAT", required = true)]
    words: Vec<String>,
    /// The class whose main method starts the program [default: that of the manifest, or the only one]
    #[arg(long, value_name = "CLASS")]
    main: Option<String>,
    /// All pairs of neighbouring calls (Java: and all loops), those that do most first
    #[arg(long)]
    all: bool,
    /// Wall time (ms, s, m, h)
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    budget: Duration,
}

pub fn run(args: &Args) -> i32 {
    let (paths, wanted): (Vec<&String>, Vec<&String>) = args.words.iter().partition(|word| Path::new(word).exists());
    if args.all != wanted.is_empty() {
        eprintln!("reweave: say what to look at (lines, a method, a loop), or --all");
        return exit::USAGE;
    }
    let answered = panic::catch_unwind(|| match &paths[..] {
        [] => Err((format!("{}: no such file", args.words[0]), exit::USAGE)),
        [script] if script.ends_with(".rwi") => script_file(args, script, &wanted),
        _ => java_program(args, &paths, &wanted),
    });
    match answered {
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

fn script_file(args: &Args, path: &str, wanted: &[&String]) -> Result<i32, (String, i32)> {
    let path = Path::new(path);
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
    let text = fs::read_to_string(path).map_err(|error| (format!("{}: {error}", path.display()), exit::USAGE))?;
    let code = language::parse(&name, &text).map_err(|error| (error.to_string(), exit::USAGE))?;
    answer(args, &code, wanted)
}

/// Whether a candidate is meant by the words.
fn is_meant(one: &Candidate, wanted: &[&String]) -> bool {
    let at = |word: &str, (first, last): (u32, u32)| match word.rsplit_once(':') {
        Some((file, line)) => file == one.file && line.parse().is_ok_and(|line: u32| (first..=last).contains(&line)),
        None => word.parse().is_ok_and(|line: u32| (first..=last).contains(&line)),
    };
    match wanted {
        [] => true,
        [word] if word.parse::<u32>().is_ok() || word.contains(':') => {
            one.is_loop && at(word, (one.lines[0].0, one.lines[0].0))
        }
        [first, second] if first.contains(':') || first.parse::<u32>().is_ok() => {
            !one.is_loop && at(first, one.lines[0]) && at(second, one.lines[1])
        }
        words => words.iter().any(|word| fits(word, &one.within)),
    }
}

fn java_program(args: &Args, paths: &[&String], wanted: &[&String]) -> Result<i32, (String, i32)> {
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let question = Question { main: args.main.clone(), budget: Some(args.budget), ..Question::default() };
    let told = |why: NoAnswer| match why {
        NoAnswer::Usage(why) => (why, exit::USAGE),
        NoAnswer::Nothing(why) => (format!("nothing to analyse: {why}"), exit::CANNOT_RUN),
    };
    let mut all = java::candidates(&paths, &question).map_err(told)?;
    all.retain(|one| is_meant(one, wanted));
    if all.is_empty() {
        return Err((
            "nothing to analyse: no loop, and no two calls in one block, are there".to_owned(),
            exit::CANNOT_RUN,
        ));
    }
    let end = Instant::now() + args.budget;
    let mut answers = Vec::new();
    for one in &all {
        if Instant::now() > end {
            eprintln!("reweave: {} more were not looked at: the time is used up (--budget)", all.len() - answers.len());
            break;
        }
        answers.push((one, java::parallelise(&paths, &question, one).map_err(told)?));
    }
    let printed = output::print(|out| {
        for (one, answer) in &answers {
            let said = match answer {
                java::Answer::Parallelisable { reductions } if reductions.is_empty() => "parallelisable".to_owned(),
                java::Answer::Parallelisable { reductions } => {
                    format!("parallelisable with reduction({})", reductions.join(", "))
                }
                java::Answer::Not(why) => format!("not: {}", why.join("; ")),
            };
            writeln!(out, "{}: {said} (about {} statements)", one.name, one.cost)?;
        }
        Ok(())
    });
    let any = answers.iter().any(|(_, answer)| matches!(answer, java::Answer::Parallelisable { .. }));
    Ok(if printed != exit::CLEAN || any { printed } else { exit::FINDINGS })
}

/// A call: its line, its statement, and what it calls.
type Call = (u32, StatementId, String);

fn answer(args: &Args, code: &language::Program, wanted: &[&String]) -> Result<i32, (String, i32)> {
    let lines: Vec<u32> = wanted.iter().filter_map(|word| word.parse().ok()).collect();
    let is_method = |name: &str| lines.is_empty() && wanted.iter().any(|word| *word == name);
    let calls: Vec<Call> = code
        .statements()
        .filter_map(|(within, statement)| match &statement.kind {
            _ if !args.all && lines.is_empty() && !is_method(&code.function(within).name) => None,
            StatementKind::Call { function, .. } => {
                Some((statement.position.line, statement.id, code.function(*function).name.clone()))
            }
            _ => None,
        })
        .collect();
    let pairs: Vec<[&Call; 2]> = match lines[..] {
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
        .filter(|(_, _, answer)| lines.len() == 2 || *answer != Answer::Not(vec![Obstacle::NotTwoCalls]))
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
