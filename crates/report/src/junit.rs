//! JUnit XML, as continuous integration reads it: each bug is a test case. One that is confirmed or predicted
//! failed; one that is merely potential, suppressed or known from before is skipped, with the reason. Without findings
//! there is one that passed.

use std::io::{self, Write};

use reweave_model::Novelty;

use crate::data::Item;
use crate::dossier::Dossier;
use crate::escape::xml;
use crate::related::{self, Group};
use crate::text::{Page, Style};

pub fn write(dossier: &Dossier<'_>, out: &mut dyn Write) -> io::Result<()> {
    let bugs = related::folded(&dossier.report.findings);
    let failed = bugs.iter().filter(|bug| skipped(bug.lead).is_none()).count();
    let errors = usize::from(dossier.report.unchecked.is_some());
    let tests = (bugs.len() + errors).max(1);
    let skipped = bugs.len() - failed;
    let numbers = format!("tests=\"{tests}\" failures=\"{failed}\" errors=\"{errors}\" skipped=\"{skipped}\"");
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"reweave\" {numbers}>")?;
    let program = dossier.report.program.join(" ");
    writeln!(out, "  <testsuite name=\"{}\" {numbers}>", xml(&program))?;
    match &dossier.report.unchecked {
        Some(why) => writeln!(
            out,
            "    <testcase classname=\"reweave\" name=\"checked\"><error message=\"not checked: {}\"/></testcase>",
            xml(why)
        )?,
        None if bugs.is_empty() => writeln!(out, "    <testcase classname=\"reweave\" name=\"no findings\"/>")?,
        None => {}
    }
    for bug in &bugs {
        case(dossier, bug, out)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// Why a finding fails nothing.
fn skipped(item: &Item) -> Option<String> {
    if let Some(reason) = &item.suppressed {
        return Some(format!("suppressed: {reason}"));
    }
    if item.baseline == Some(Novelty::Known) {
        return Some("known from the baseline".into());
    }
    if item.is_information() {
        return Some("a read that depends on the schedule: information, no defect".into());
    }
    (!item.is_proven()).then(|| "potential: a pattern that may be false".into())
}

fn case(dossier: &Dossier<'_>, group: &Group<'_>, out: &mut dyn Write) -> io::Result<()> {
    let item = group.lead;
    let mut text = Vec::new();
    let page = Page {
        folder: &dossier.folder,
        style: Style::PLAIN,
        sources: dossier.sources,
        language: &dossier.report.language,
        findings: &dossier.report.findings,
    };
    page.write_group(group, &mut text)?;
    let text = xml(&String::from_utf8_lossy(&text));
    let place = item.accesses.first().filter(|access| access.location.line != 0).map_or(String::new(), |access| {
        let file = dossier.shown_path(&access.location.file);
        format!(" file=\"{}\" line=\"{}\"", xml(&file), access.location.line)
    });
    // The fingerprint keeps the name of a test the same from run to run.
    let name = xml(&format!("{} ({})", item.summary, item.fingerprint));
    writeln!(out, "    <testcase classname=\"reweave.{}\" name=\"{name}\"{place}>", item.kind)?;
    match skipped(item) {
        Some(why) => writeln!(out, "      <skipped message=\"{}\"/>", xml(&why))?,
        None => writeln!(
            out,
            "      <failure type=\"{}\" message=\"{}\">{text}</failure>",
            xml(&format!("{} {}", item.strength, item.kind)),
            xml(&item.summary)
        )?,
    }
    writeln!(out, "    </testcase>")
}
