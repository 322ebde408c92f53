//! `reweave report`

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use reweave_hunt::pipeline;
use reweave_launch::{Error, exit};
use reweave_report::text::Detail;
use reweave_report::view::Evidence;
use reweave_report::{Dossier, Report, Sources, Style, html, junit, perfetto, sarif, text};

use crate::front_ends::FRONT_ENDS;
use crate::triage::Triage;
use crate::{evidence, output};

/// Show the findings of an earlier test again, or write them in another form
///
/// Without a form the findings are printed. The forms need the folder as `reweave test` left it: the runs in it are
/// what they show.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave report reweave-out\n  \
    reweave report reweave-out --html report.html\n  \
    reweave report reweave-out --sarif reweave.sarif --junit reweave.xml")]
pub struct Args {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// One page for the browser, with all interleavings
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// SARIF 2.1.0, for code scanning
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// JUnit XML, for continuous integration
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// The runs as a trace for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    #[command(flatten)]
    triage: Triage,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// How much is told.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct Verbosity {
    /// Only print how many findings there are
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print every finding in full, with every caller
    #[arg(short, long)]
    verbose: bool,
}

impl Verbosity {
    pub const fn detail(self) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Full,
            _ => Detail::Normal,
        }
    }
}

pub fn run(args: Args) -> i32 {
    match report(&args) {
        Ok(code) => code,
        Err(error) => output::fail(&error),
    }
}

fn report(args: &Args) -> Result<i32, Error> {
    let judge = args.triage.judge()?;
    let mut report = pipeline::load_report(&args.folder)?;
    judge.apply(&mut report);
    let written = write_forms(args, &report)?;
    if let Ok(Some(rebuilt)) = pipeline::rebuilt(FRONT_ENDS, &args.folder, None) {
        eprintln!(
            "reweave: {rebuilt}: this is about the recorded one; `reweave verify` shows which of these findings still \
             exist"
        );
    }
    let mut code = exit::CLEAN;
    if !written {
        let folder = args.folder.display().to_string();
        let style = Style::for_stdout().with_detail(args.verbosity.detail());
        code = output::print(|out| text::write(&report, &folder, style, out));
    }
    Ok(if code == exit::CLEAN && report.has_findings() { exit::FINDINGS } else { code })
}

/// Writes a report in some form.
pub type Form = fn(&Dossier<'_>, &mut dyn Write) -> io::Result<()>;

/// Writes the files that were asked for; says whether there were any.
fn write_forms(args: &Args, report: &Report) -> Result<bool, Error> {
    let forms: [(&Option<PathBuf>, Form); 4] = [
        (&args.html, html::write),
        (&args.sarif, sarif::write),
        (&args.junit, junit::write),
        (&args.perfetto, perfetto::write),
    ];
    let wanted: Vec<(&Path, Form)> = forms.iter().filter_map(|(path, form)| Some((path.as_deref()?, *form))).collect();
    if wanted.is_empty() {
        return Ok(false);
    }
    let evidence = evidence::of_all(report, &args.folder);
    write_all(report, args.folder.display().to_string(), evidence, &wanted)?;
    Ok(true)
}

/// Writes a report in some forms.
pub fn write_all(
    report: &Report,
    folder: String,
    evidence: BTreeMap<u32, Evidence>,
    wanted: &[(&Path, Form)],
) -> Result<(), Error> {
    let sources = Sources::default();
    let root = std::env::current_dir().unwrap_or_default();
    let dossier = Dossier { report, folder, evidence, sources: &sources, root };
    for (path, form) in wanted {
        let file = File::create(path).map_err(Error::output("write", path))?;
        let mut out = BufWriter::new(file);
        form(&dossier, &mut out).and_then(|()| out.flush()).map_err(Error::output("write", path))?;
        eprintln!("reweave: wrote {}", path.display());
    }
    Ok(())
}
