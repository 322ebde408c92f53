//! `reweave predict`

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use reweave_launch::{Error, exit};
use reweave_report::{Report, Style, data, resolve, text};

use crate::output;
use crate::progress::Bar;

/// Analyse a trace without running anything
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave predict reweave.rwt\n  \
    reweave predict reweave.rwt --analysis hb --json findings.json")]
pub struct Args {
    trace: PathBuf,
    /// Only these analyses
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    analysis: Vec<String>,
    /// Also write the findings as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn run(args: Args) -> i32 {
    let analyses = reweave_predict::all();
    if let Some(unknown) = args.analysis.iter().find(|name| analyses.iter().all(|a| a.name() != *name)) {
        let known: Vec<&str> = analyses.iter().map(|analysis| analysis.name()).collect();
        eprintln!("reweave: there is no analysis `{unknown}`: choose from {}", known.join(", "));
        return exit::USAGE;
    }
    match predict(&args, &analyses) {
        Ok(report) => {
            let code = output::print(|out| text::write(&report, "", Style { colour: false }, out));
            if code != exit::CLEAN {
                code
            } else if report.has_findings() {
                exit::FINDINGS
            } else {
                exit::CLEAN
            }
        }
        Err(error) => output::fail(&error),
    }
}

fn predict(args: &Args, analyses: &[Box<dyn reweave_predict::Analysis>]) -> Result<Report, Error> {
    let trace = reweave_trace::open(&args.trace)?;
    let mut findings = Vec::new();
    let mut events = 0;
    for analysis in analyses.iter().filter(|a| args.analysis.is_empty() || args.analysis.iter().any(|n| n == a.name()))
    {
        let bar = Bar::new(analysis.name(), 1000);
        let answer = analysis.run(&trace, &mut |done| bar.at((done * 1000.0) as u64))?;
        bar.done();
        events = answer.events;
        findings.extend(answer.findings);
    }
    let items = findings.iter().zip(1..).map(|(finding, id)| {
        let mut item = resolve::item(id, finding, &trace);
        item.why_unconfirmed = Some("only predicted: `reweave test` or `reweave confirm` runs the program".into());
        item
    });
    let report = Report {
        reweave: env!("CARGO_PKG_VERSION").into(),
        schema: data::SCHEMA,
        program: trace.meta().program.clone(),
        findings: items.collect(),
        stats: BTreeMap::from([("events".to_owned(), events), ("unknown_pairs".to_owned(), 0)]),
    };
    if let Some(path) = &args.json {
        fs::write(path, report.to_json()).map_err(|source| Error::Output {
            action: "write",
            path: path.clone(),
            source,
        })?;
    }
    for damage in trace.damage() {
        eprintln!("reweave: warning: {}: {damage}", args.trace.display());
    }
    Ok(report)
}
