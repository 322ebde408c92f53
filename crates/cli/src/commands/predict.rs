//! `reweave predict`

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reweave_launch::{Error, exit, interrupt, memory};
use reweave_model::{Kind, Strength};
use reweave_predict::Mode;
use reweave_predict::search::nondeterminism::{self, Rule};
use reweave_predict::share::Share;
use reweave_predict::{ANALYSES, AnalysisRef, PredictionResult, SearchLimits, Stage, Stages};
use reweave_report::{Item, Report, Style, data, resolve, text};
use reweave_spmd::host::{Engine, Owners, Recording};
use reweave_trace::{RunSet, Trace};

use crate::output;
use crate::progress::Bar;
use crate::size::{parse_size, parse_time};

/// Analyse a trace without running anything
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    trace: PathBuf,
    /// Only these analyses
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    analysis: Vec<String>,
    /// Which reorderings count
    #[arg(long, value_enum, default_value = "control-flow")]
    mode: ModeName,
    /// Events per window of the maximal engine, counting only those that matter to it [default: the whole trace if it
    /// is short enough, 10000 otherwise]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    window: Option<u32>,
    /// Wall time (ms, s, m, h); what is undecided by then is counted
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time)]
    budget: Option<Duration>,
    /// Memory that `reweave` may use; what does not fit is left out and counted [default: a quarter of
    /// the machine's, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
    /// How nondeterministic reads are found
    #[arg(long, value_enum, default_value = "exact", value_name = "RULE")]
    rule: RuleName,
    /// Leave out reads that would get the same known value from the other write
    #[arg(long)]
    values: bool,
    /// Look for findings of this kind and fail (exit code 1) if there are any
    #[arg(long, value_enum, value_name = "KIND")]
    deny: Option<Deny>,
    /// Exit with code 0 even if there was nothing to analyse: no events, or none of memory
    #[arg(long)]
    allow_unchecked: bool,
    /// Only list the candidates of the analyses that read the trace once, without looking for witnesses
    #[arg(long)]
    candidates: bool,
    /// Worker threads; the findings are the same with any number [default: one for each processor]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Also print the numbers of each analysis, and where the time went
    #[arg(long)]
    stats: bool,
    /// Programs of many ranks: also what the standard forbids but every implementation allows
    #[arg(long)]
    strict: bool,
    /// Programs of many ranks: only the memory of these: 2, 0-3 or 0-3,8
    #[arg(long, value_name = "RANKS")]
    ranks: Option<Owners>,
    /// Functions that should be atomic: a file with one name per line (# begins a comment)
    #[arg(long, value_name = "FILE")]
    atomic: Option<PathBuf>,
    /// Also write the findings as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum RuleName {
    /// By questions to the engine: each with a reordering that shows it
    Exact,
    /// As published (Sinha, Malik, Gupta 2012): patterns, and the numbers of the paper's table
    Published,
}

/// What does not make a run fail unless it is said so.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Deny {
    Nondeterminism,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ModeName {
    /// Reads may change as long as nothing that depends on them follows
    ControlFlow,
    /// Every read keeps its value
    Prefix,
    /// Every read keeps its value, over complete traces
    Said,
    /// Reads may return anything
    DataAbstract,
}

impl RuleName {
    const fn rule(self) -> Rule {
        match self {
            Self::Exact => Rule::Exact,
            Self::Published => Rule::Published,
        }
    }
}

impl ModeName {
    const fn mode(self) -> Mode {
        match self {
            Self::ControlFlow => Mode::ControlFlow,
            Self::Prefix => Mode::Prefix,
            Self::Said => Mode::Said,
            Self::DataAbstract => Mode::DataAbstract,
        }
    }
}

fn after_help() -> String {
    let mut text = String::from("Analyses (* by default):\n");
    for analysis in ANALYSES {
        let mark = if analysis.about().is_default { '*' } else { ' ' };
        text += &format!("  {mark} {:<24} {}\n", analysis.id().name(), analysis.about().summary);
    }
    text + "\nExamples:\n  \
        reweave predict reweave.rwt\n  \
        reweave predict reweave.rwt --analysis hb,lockset --json findings.json\n  \
        reweave predict reweave.rwt --analysis nondeterminism --values --stats\n  \
        reweave predict trace.std --budget 2m"
}

/// The analyses of these names, or that there is none.
pub fn by_names(names: &[String]) -> Result<Vec<AnalysisRef>, String> {
    let find = |name: &String| {
        reweave_predict::find(name).ok_or_else(|| {
            let known: Vec<&str> = ANALYSES.iter().map(|analysis| analysis.id().name()).collect();
            format!("there is no analysis `{name}`: choose from {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

pub fn run(args: Args) -> i32 {
    let analyses = match by_names(&args.analysis) {
        Ok(analyses) => analyses,
        Err(why) => {
            eprintln!("reweave: {why}");
            return exit::USAGE;
        }
    };
    let _memory = memory::limit(args.max_memory.unwrap_or_else(memory::default_limit));
    let together = match Engine::start() {
        Ok(engine) => engine.map(Together),
        Err(why) => {
            eprintln!("reweave: {why}");
            return exit::USAGE;
        }
    };
    let is_first = together.as_ref().is_none_or(|together| together.me() == 0);
    let predicted = predict(&args, analyses, together.as_ref());
    // Whoever cannot read the trace ends without a word to the others: their launcher ends them.
    if let (Ok(_), Some(Together(engine))) = (&predicted, together) {
        engine.finish();
    }
    match predicted {
        Ok(_) if !is_first => exit::CLEAN,
        Ok(report) => {
            let code = output::print(|out| {
                text::write(&report, "", Style::for_stdout().with_detail(text::Detail::Full), out)?;
                if args.stats { text::write_stats(&report, out) } else { Ok(()) }
            });
            if code != exit::CLEAN {
                code
            } else if report.has_findings() || args.deny == Some(Deny::Nondeterminism) && report.has_nondeterminism() {
                exit::FINDINGS
            } else if report.unchecked.is_some() && !args.allow_unchecked {
                exit::USAGE
            } else {
                exit::CLEAN
            }
        }
        Err(error) => output::fail(&error),
    }
}

/// Processes that MPI's launcher started: each does a part.
#[derive(Debug)]
struct Together(Engine);

impl Share for Together {
    fn me(&self) -> usize {
        self.0.me()
    }

    fn everybody(&self) -> usize {
        self.0.everybody()
    }

    fn gather(&self, numbers: Vec<u64>) -> Vec<Vec<u64>> {
        self.0.gather(&numbers)
    }
}

fn predict(args: &Args, analyses: Vec<AnalysisRef>, together: Option<&Together>) -> Result<Report, Error> {
    let stages = Stages::default();
    let options = reweave_predict::Options {
        analyses,
        for_trial: false,
        shown: false,
        candidates: args.candidates,
        atomic: args.atomic.as_deref().map(crate::atomic::function_names).transpose()?.unwrap_or_default(),
        limits: SearchLimits {
            mode: args.mode.mode(),
            window: args.window.map(|window| window as usize),
            deadline: args.budget.map(|budget| Instant::now() + budget),
            interrupt: Some(interrupt::asked_to_stop()),
            memory: Some(memory::flag()),
            jobs: args.jobs.map_or_else(processors, usize::from),
            stages: args.stats.then_some(&stages),
        },
        nondeterminism: nondeterminism::Options {
            wanted: args.deny == Some(Deny::Nondeterminism),
            rule: args.rule.rule(),
            values: args.values,
        },
        share: together.map(|together| together as &dyn Share),
    };
    let is_first = together.is_none_or(|together| together.me() == 0);
    let mut report = match () {
        () if Recording::is_in(&args.trace) => {
            crate::ranks::predict(&args.trace, args.strict, &args.ranks.clone().unwrap_or_default())?
        }
        () if RunSet::is_manifest(&args.trace) => predict_all(&RunSet::of(&args.trace), &options)?,
        () => predict_one(&args.trace, &options)?,
    };
    if args.stats {
        let stage = |stage: &Stage| (format!("time.{}_ms", stage.name()), stages.of(*stage).as_millis() as u64);
        report.stats.extend(Stage::ALL.iter().map(stage));
    }
    if let Some(path) = args.json.as_ref().filter(|_| is_first) {
        fs::write(path, report.to_json()).map_err(|source| Error::Output {
            action: "write",
            path: path.clone(),
            source,
        })?;
    }
    Ok(report)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Every process of a run by itself; the findings in one report.
fn predict_all(run: &RunSet, options: &reweave_predict::Options) -> Result<Report, Error> {
    let mut all = Report::default();
    for path in run.paths() {
        let Report { findings, stats, program, reweave, schema, unchecked, .. } = predict_one(&path, options)?;
        (all.reweave, all.schema) = (reweave, schema);
        if all.program.is_empty() {
            all.program = program;
        }
        for item in findings {
            all.findings.push(Item { id: all.findings.len() as u32 + 1, ..item });
        }
        all.unchecked = all.unchecked.or(unchecked);
        for (name, number) in stats {
            *all.stats.entry(name).or_default() += number;
        }
    }
    Ok(all)
}

fn predict_one(path: &Path, options: &reweave_predict::Options) -> Result<Report, Error> {
    let mut bar: Option<(&str, Bar)> = None;
    let mut progress = |what, done: f64| {
        if bar.as_ref().is_none_or(|(shown, _)| *shown != what) {
            bar.take().into_iter().for_each(|(_, old)| old.done());
            bar = Some((what, Bar::new(what, 1000)));
        }
        if let Some((_, bar)) = &bar {
            bar.at((done * 1000.0) as u64);
        }
    };
    let (trace, early) = options.limits.timed(Stage::Read, || reweave_predict::open(path, options, &mut progress))?;
    let answer = reweave_predict::predict_from(&trace, early, options, &mut progress)?;
    bar.into_iter().for_each(|(_, bar)| bar.done());
    for name in &answer.unseen_functions {
        eprintln!("reweave: warning: no event of the trace is in `{name}`: check how --atomic spells it");
    }
    for warning in trace.footer().map_or(&[][..], |footer| &footer.warnings) {
        eprintln!("reweave: warning: {}: {warning}", path.display());
    }
    for damage in trace.damage() {
        eprintln!("reweave: warning: {}: {damage}", path.display());
    }
    Ok(options.limits.timed(Stage::Describe, || report(&trace, answer)))
}

fn report(trace: &Trace, answer: PredictionResult) -> Report {
    resolve::have_at_hand(trace, &answer.findings);
    let items = answer.findings.iter().zip(1..).map(|(finding, id)| {
        let mut item = resolve::item(id, finding, trace);
        let what = if finding.witness().is_some() { "only predicted" } else { "no reordering is known to show it" };
        let why = match finding.kind {
            Kind::Nondeterminism => format!("{what}: `reweave test` runs the program"),
            _ => format!("{what}: `reweave test` or `reweave confirm` runs the program"),
        };
        // What the recorded run did itself needs no other run.
        item.why_unconfirmed = (finding.strength != Strength::Confirmed).then_some(why);
        item
    });
    let findings = items.collect();
    let mut stats = answer.stats;
    if memory::times() > 0 {
        stats.insert("memory_limit".to_owned(), memory::times());
    }
    let unread = stats.get("unread_events").copied().unwrap_or(0);
    stats.insert("events".to_owned(), answer.events);
    stats.insert("unknown_pairs".to_owned(), answer.unknown_pairs);
    let reweave = env!("CARGO_PKG_VERSION").into();
    let unchecked = match () {
        () if answer.events == 0 && !trace.damage().is_empty() => Some("all events of the trace are lost".into()),
        () if answer.events == 0 => Some("the trace has no events".into()),
        () if !trace.meta().instrumented && !trace.meta().abstract_values => {
            let build = &trace.language().how_to_instrument;
            Some(format!("the program was not built with {build}: its accesses to memory are not in the trace"))
        }
        () if interrupt::asked_to_stop().load(Ordering::Relaxed) => {
            Some("it was interrupted: these are the results so far".into())
        }
        () if unread > 0 => {
            let all = trace.event_count();
            Some(format!("only {} of {all} events of the trace were read (see --budget)", all - unread))
        }
        () => None,
    };
    Report {
        unchecked,
        reweave,
        schema: data::SCHEMA,
        program: trace.meta().program.clone(),
        findings,
        stats,
        bugs: Vec::new(),
        baseline: None,
        determinism: None,
        language: Arc::new(trace.language().clone()),
    }
}
