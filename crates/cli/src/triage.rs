//! Which findings need somebody to look at them: suppressions and a baseline, as options of several commands.

use std::fs;
use std::path::PathBuf;

use reweave_launch::Error;
use reweave_report::{Item, Report, Suppressions, baseline};

#[derive(clap::Args, Clone, Debug, Default)]
pub struct Triage {
    /// Findings to suppress, each with a reason (several files may be named; ThreadSanitizer's own work, too)
    #[arg(long, value_name = "FILE")]
    suppress: Vec<PathBuf>,
    /// An earlier report.json: only what is new since then makes the command fail
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

/// The files, read.
#[derive(Default)]
pub struct TriageFiles {
    suppressions: Option<Suppressions>,
    earlier: Option<(String, Report)>,
}

impl Triage {
    /// Reads the files: before a long test, so that a mistake in one shows at once.
    pub fn judge(&self) -> Result<TriageFiles, Error> {
        let mut suppressions = Suppressions::default();
        for path in &self.suppress {
            let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
            let wrong = |mistake: reweave_report::suppress::Mistake| Error::NotReplayable {
                path: format!("{}:{}", mistake.file, mistake.line).into(),
                why: mistake.what,
            };
            suppressions.add(&path.display().to_string(), &text).map_err(wrong)?;
        }
        let earlier = match &self.baseline {
            None => None,
            Some(path) => {
                let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
                let wrong = |why| Error::NotReplayable {
                    path: path.clone(),
                    why: format!("no report: {why}: name the report.json of an earlier test"),
                };
                Some((path.display().to_string(), Report::from_json(&text).map_err(wrong)?))
            }
        };
        Ok(TriageFiles { suppressions: (!self.suppress.is_empty()).then_some(suppressions), earlier })
    }
}

impl TriageFiles {
    /// Whether somebody has to look at a finding.
    pub fn is_news(&self, item: &Item) -> bool {
        let mut alone = Report { findings: vec![item.clone()], ..Report::default() };
        self.apply(&mut alone);
        alone.findings.iter().all(Item::is_news)
    }

    /// Marks what is suppressed and what is new; says whether there was anything to go by.
    pub fn apply(&self, report: &mut Report) -> bool {
        if let Some(suppressions) = &self.suppressions {
            suppressions.apply(report);
        }
        if let Some((file, earlier)) = &self.earlier {
            baseline::compare(report, earlier, file);
        }
        self.suppressions.is_some() || self.earlier.is_some()
    }
}
