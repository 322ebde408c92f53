//! `reweave determinism`

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reweave_launch::{Error, exit, memory};
use reweave_report::determinism::{self, Determinism, TextOptions, Verdict};
use reweave_report::resolve::{self, ProgramText};
use reweave_report::{Report, data, html, sarif};
use reweave_statics::expected::{self, Expected};
use reweave_statics::java::{self, NoAnswer};
use reweave_statics::only::{Only, only};
use reweave_statics::question::{self, Assumption, Question, Requirement, Rule, assumption, partition, requirement};
use reweave_statics::{findings, script_answer};
use reweave_trace::Language;

use crate::in_time::{self, TimedResult};
use crate::size::{parse_size, parse_time};
use crate::{against, facts, output};

/// Say what can differ between two runs, and what cannot, without running anything
///
/// The program is a .rwi script, or Java: jars, directories of class files, class files.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave determinism bank.jar\n  \
    reweave determinism build/classes --main org.bank.Bank --require deterministic:Report.total\n  \
    reweave determinism account.rwi --weak sign --explain amount\n  \
    reweave determinism bank.jar --against reweave-out\n\n\
    LOCATION: Class.field, Class.field[] (elements), output, output:FILE:LINE; * stands for anything.\n\
    Exit codes: 0 everything required is proved, or nothing was · 1 something is not · 2 usage · \n\
    3 nothing to analyse · 4 internal error, or a run did what was excluded (--against).")]
pub struct Args {
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The class whose main method starts the program [default: that of the manifest, or the only one]
    #[arg(long, value_name = "CLASS")]
    main: Option<String>,
    /// A method that others call at any time, with itself and other entries [default without a main: all public ones]
    #[arg(long, value_name = "METHOD", conflicts_with = "main")]
    entry: Vec<String>,
    /// A method of the program that is a barrier: no thread leaves it before all others are there
    #[arg(long, value_name = "CLASS.METHOD")]
    barrier: Vec<String>,
    /// Judge only some states: threads=NAME, locations=LOCATION, states=reads|writes|FILE:LINE|METHOD, with commas
    #[arg(long, value_name = "WHICH", value_parser = only)]
    only: Vec<Only>,
    /// What must be proved: deterministic:LOCATION, weak(PARTITION):LOCATION, no-output-differs, no-race
    #[arg(long, value_name = "WHAT", value_parser = requirement)]
    require: Vec<Requirement>,
    /// Count values as the same if they lie in one class: sign, parity, mod:N, null, const, or a comparison like `x >=
    /// 0`
    #[arg(long, value_name = "PARTITION")]
    weak: Option<String>,
    /// What makes a read deterministic
    #[arg(long, value_enum, default_value = "sources")]
    rule: RuleName,
    /// How many calls (.rwi) or whether receivers (Java) tell calls of one method apart
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    context: Option<u8>,
    /// What library methods do, in a file of lines `CLASS METHOD WORD...`
    #[arg(long, value_name = "FILE")]
    models: Vec<PathBuf>,
    /// Wall time (ms, s, m, h); what is not settled by then is unknown
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    budget: Duration,
    /// Memory that `reweave` may use [default: a quarter of the machine's, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
    /// Also list what is fixed, every read, and what is assumed
    #[arg(long)]
    all: bool,
    /// Only what there is about this location
    #[arg(long, value_name = "LOCATION")]
    explain: Option<String>,
    /// What to take for granted: limits (waits of a second or more do not run out; Java only)
    #[arg(long, value_name = "WHAT", value_parser = assumption)]
    assume: Vec<Assumption>,
    /// Also write what is known of reads, for `reweave test --hints` and `--facts`
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Also write who calls whom, as the analysis sees it (Java only)
    #[arg(long, value_name = "FILE")]
    calls: Option<PathBuf>,
    /// Compare with a trace, or with the folder of a `reweave test`: what a run did must be possible
    #[arg(long, value_name = "PATH")]
    against: Vec<PathBuf>,
    /// Also write everything as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write what can differ as SARIF 2.1.0, for code scanning
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Also write what can differ as one page for the browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RuleName {
    /// Every read gets its value from the same write in all executions
    Sources,
    /// As published (Ferrara): every location has one writing thread at every state
    Paper,
}

pub fn run(args: &Args) -> i32 {
    let _memory = memory::limit(args.max_memory.unwrap_or_else(memory::default_limit));
    let asked = match ask(args) {
        Ok(question) => question,
        Err(why) => return usage(&why),
    };
    let (paths, question) = (args.paths.clone(), asked.clone());
    // What it has settled by then is worth a moment.
    let most = args.budget + args.budget / 10 + Duration::from_millis(500);
    let determinism = match in_time::answer(most, move || answer(&paths, &question)) {
        TimedResult::Answer(Ok(determinism)) => determinism,
        TimedResult::Answer(Err(NoAnswer::Usage(why))) => return usage(&why),
        TimedResult::Answer(Err(NoAnswer::Nothing(why))) => {
            eprintln!("reweave: nothing to analyse: {why}");
            return exit::CANNOT_RUN;
        }
        TimedResult::Panicked => {
            eprintln!("reweave: the analysis failed: this is a bug in reweave");
            return exit::INTERNAL;
        }
        TimedResult::Unfinished(why) => question::unfinished(&asked, why),
    };
    if let Err(error) = write_forms(args, &determinism) {
        return output::fail(&error);
    }
    let shown = TextOptions { all: args.all, explain: args.explain.clone() };
    let code = output::print(|out| determinism::write(&determinism, &shown, out));
    if code != exit::CLEAN {
        return code;
    }
    for required in &determinism.required {
        let answer = match required.verdict {
            Verdict::Proved => "proved".to_owned(),
            Verdict::CanDiffer => format!("not proved: can differ: {}", required.because.join(", ")),
            Verdict::Unknown => format!("not proved: unknown: {}", required.because.join(", ")),
        };
        eprintln!("reweave: required: {}: {answer}", required.what);
    }
    if determinism.gave_up.is_none() && determinism.locations.iter().any(|item| item.verdict == Verdict::CanDiffer) {
        eprintln!("reweave: try what can differ: reweave test -- {}", command(args));
    }
    match keep_facts(args, &asked, &determinism).and_then(|()| compare(args, &asked, &determinism)) {
        Ok(true) if determinism.is_satisfied() => exit::CLEAN,
        Ok(true) => exit::FINDINGS,
        Ok(false) => exit::INTERNAL,
        Err(error) => output::fail(&error),
    }
}

/// What runs may do, by lines.
fn expected(args: &Args, question: &Question, determinism: &Determinism) -> Result<Expected, Error> {
    let not = |why: String| Error::NotReplayable { path: args.paths.first().cloned().unwrap_or_default(), why };
    match &args.paths[..] {
        [script] if is_script(script) => {
            Ok(expected::of_script(&parsed(script).map_err(|_| not("no program".to_owned()))?, determinism))
        }
        paths => java::expected(paths, question).map_err(|why| not(format!("{why:?}"))),
    }
}

/// How the program is run, as far as that is known.
fn command(args: &Args) -> String {
    let paths: Vec<String> = args.paths.iter().map(|path| path.display().to_string()).collect();
    match (&args.paths[..], &args.main) {
        ([script], _) if is_script(script) => paths.concat(),
        ([jar], None) if jar.extension().is_some_and(|ending| ending == "jar") => {
            format!("java -jar {}", paths.concat())
        }
        (_, main) => format!("java -cp {} {}", paths.join(":"), main.as_deref().unwrap_or("MAIN")),
    }
}

fn keep_calls(args: &Args, question: &Question) -> Result<(), Error> {
    let Some(path) = args.calls.as_ref().filter(|_| !args.paths.iter().any(|path| is_script(path))) else {
        return Ok(());
    };
    let not = |why| Error::NotReplayable { path: path.clone(), why: format!("{why:?}") };
    let lines = java::call_graph(&args.paths, question).map_err(not)?;
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).map_err(Error::output("write", path))
}

fn keep_facts(args: &Args, question: &Question, determinism: &Determinism) -> Result<(), Error> {
    if determinism.gave_up.is_some() {
        return Ok(());
    }
    keep_calls(args, question)?;
    let Some(path) = &args.facts else { return Ok(()) };
    facts::write(path, &args.paths, &expected(args, question, determinism)?)
}

/// Whether nothing happened in the runs that the analysis excludes.
fn compare(args: &Args, question: &Question, determinism: &Determinism) -> Result<bool, Error> {
    if args.against.is_empty() {
        return Ok(true);
    }
    if determinism.gave_up.is_some() {
        eprintln!("reweave: nothing to compare with: the analysis did not end");
        return Ok(true);
    }
    let expected = expected(args, question, determinism)?;
    let mut fits = true;
    for path in &args.against {
        let compared = against::compare(&expected, path)?;
        let path = path.display();
        if expected.blind {
            eprintln!("reweave: against {path}: nothing to compare: code that is not understood may do anything");
        } else if compared.holes.is_empty() {
            let (reads, findings) = (output::counted(compared.reads, "read", "reads"), compared.findings);
            eprintln!("reweave: against {path}: {reads} and {findings} of its findings are as they may be");
        }
        for hole in &compared.holes {
            eprintln!("reweave: against {path}: {hole}: this is a bug in reweave");
            fits = false;
        }
    }
    Ok(fits)
}

/// The files that were asked for.
fn write_forms(args: &Args, determinism: &Determinism) -> Result<(), Error> {
    let report = report(args, determinism);
    if let Some(path) = &args.json {
        fs::write(path, report.to_json()).map_err(Error::output("write", path))?;
    }
    let forms: [(&Option<PathBuf>, super::report::Form); 2] = [(&args.html, html::write), (&args.sarif, sarif::write)];
    let wanted: Vec<_> = forms.iter().filter_map(|(path, form)| Some((path.as_deref()?, *form))).collect();
    let folder = args.paths.first().map_or_else(String::new, |path| path.display().to_string());
    super::report::write_all(&report, folder, BTreeMap::default(), &wanted)
}

fn usage(why: &str) -> i32 {
    eprintln!("reweave: {why}");
    exit::USAGE
}

fn ask(args: &Args) -> Result<Question, String> {
    let models = args.models.iter().map(|path| {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((path.display().to_string(), text))
    });
    Ok(Question {
        rule: match args.rule {
            RuleName::Sources => Rule::Sources,
            RuleName::Paper => Rule::Paper,
        },
        weak: args.weak.as_deref().map(partition).transpose()?,
        required: args.require.clone(),
        main: args.main.clone(),
        entries: args.entry.clone(),
        barriers: args.barrier.clone(),
        only: args.only.iter().cloned().fold(Only::default(), |mut all, one| {
            all.add(one);
            all
        }),
        context: args.context.map(usize::from),
        models: models.collect::<Result<_, String>>()?,
        budget: Some(args.budget),
        assumed: args.assume.clone(),
    })
}

fn answer(paths: &[PathBuf], question: &Question) -> Result<Determinism, NoAnswer> {
    match paths {
        [script] if is_script(script) => script_file(script, question),
        paths if paths.iter().any(|path| is_script(path)) => {
            Err(NoAnswer::Usage("a .rwi program is one file: give it alone".to_owned()))
        }
        paths => java::answer(paths, question),
    }
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "rwi")
}

fn script_file(path: &Path, question: &Question) -> Result<Determinism, NoAnswer> {
    script_answer(&parsed(path)?, question).map_err(NoAnswer::Usage)
}

fn parsed(path: &Path) -> Result<reweave_script::language::Program, NoAnswer> {
    let text = fs::read_to_string(path).map_err(|error| NoAnswer::Usage(format!("{}: {error}", path.display())))?;
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
    reweave_script::language::parse(&name, &text).map_err(|error| NoAnswer::Usage(error.to_string()))
}

/// The same as a report: findings like those of every analysis, and what is said about each location.
fn report(args: &Args, determinism: &Determinism) -> Report {
    let language = Language::default();
    let source = ProgramText::new(&language);
    let items = findings::findings(determinism).into_iter().zip(1..).map(|(finding, id)| {
        let mut item = resolve::item(id, &finding, &source);
        item.why_unconfirmed = Some("found in the program's text: `reweave test` runs the program".to_owned());
        item
    });
    Report {
        reweave: env!("CARGO_PKG_VERSION").to_owned(),
        schema: data::SCHEMA,
        program: args.paths.iter().map(|path| path.display().to_string()).collect(),
        findings: items.collect(),
        stats: [("unknown_pairs".to_owned(), 0)].into(),
        determinism: Some(determinism.clone()),
        ..Report::default()
    }
}
