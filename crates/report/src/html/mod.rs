//! A report as one HTML file that needs nothing else: no network, no other file. What people read first (findings,
//! sources, the story) is plain markup and works without a script; the script adds filters, keys and the interleaving
//! views, which it draws row by row as they come into sight.
//!
//! Everything that comes from the program is escaped, and a content security policy allows this page's own script
//! alone.

mod data;
mod finding;

use std::collections::BTreeMap;
use std::io::{self, Write};

use reweave_model::{Kind, Novelty, Strength};

use crate::data::Item;
use crate::dossier::Dossier;
use crate::escape::{html, html_short, json_in_html};
use crate::related;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Of [`SCRIPT`], for the content security policy. A test says what it has to be.
const SCRIPT_SHA256: &str = include_str!("page.js.sha256");

/// What is no defect comes last.
const KINDS: [Kind; Kind::ALL.len()] =
    [Kind::Race, Kind::Deadlock, Kind::Atomicity, Kind::Failure, Kind::Misuse, Kind::Nondeterminism];
const STRENGTHS: [Strength; Strength::ALL.len()] = [Strength::Confirmed, Strength::Predicted, Strength::Potential];

pub fn write(dossier: &Dossier<'_>, out: &mut dyn Write) -> io::Result<()> {
    let program = dossier.report.program.join(" ");
    let title = format!("{} – reweave", if program.is_empty() { "report" } else { &program });
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        SCRIPT_SHA256.trim(),
        html_short(&title)
    )?;
    writeln!(out, "<a class=\"skip\" href=\"#findings\">Skip to the findings</a>")?;
    header(dossier, &program, out)?;
    writeln!(out, "<main>")?;
    summary(dossier, out)?;
    filters(dossier, out)?;
    writeln!(out, "<div id=\"findings\">")?;
    if let Some(why) = &dossier.report.unchecked {
        writeln!(out, "<p class=\"none\">Not checked: {}</p>", html(why))?;
    } else if dossier.report.findings.iter().all(Item::is_information) {
        writeln!(out, "<p class=\"none\">No findings.</p>")?;
    }
    let mut groups = related::folded(&dossier.report.findings);
    groups.sort_by_key(|group| group.lead.is_information());
    for (number, group) in groups.iter().enumerate() {
        finding::write(dossier, group, number == 0 && !group.lead.is_information(), out)?;
    }
    writeln!(out, "</div>")?;
    gone(dossier, out)?;
    writeln!(out, "</main>")?;
    footer(dossier, out)?;
    let data = json_in_html(&data::pack(dossier).to_string());
    writeln!(out, "<script type=\"application/json\" id=\"data\">{data}</script>")?;
    writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>")
}

fn header(dossier: &Dossier<'_>, program: &str, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<header>\n<h1>{}</h1>\n<p class=\"sub\">reweave {} · {}</p>\n\
         <div class=\"tools\" data-script>\n\
         <button type=\"button\" id=\"theme\" title=\"Light or dark (t)\">Light / dark</button>\n\
         <button type=\"button\" id=\"help\" aria-expanded=\"false\" aria-controls=\"keys\" title=\"Keys (?)\">Keys</button>\n\
         </div>\n</header>\n",
        if program.is_empty() { "Report".into() } else { format!("<code>{}</code>", html_short(program)) },
        html(&dossier.report.reweave),
        html_short(&dossier.folder)
    )?;
    writeln!(
        out,
        "<section id=\"keys\" hidden aria-label=\"Keys\"><dl>\
         <dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous finding</dd>\
         <dt><kbd>o</kbd></dt><dd>open or close it</dd>\
         <dt><kbd>/</kbd></dt><dd>filter by text</dd>\
         <dt><kbd>v</kbd></dt><dd>go to its interleaving</dd>\
         <dt><kbd>↑</kbd> <kbd>↓</kbd></dt><dd>step by step, in an interleaving</dd>\
         <dt><kbd>[</kbd> <kbd>]</kbd></dt><dd>previous, next access of the finding</dd>\
         <dt><kbd>a</kbd></dt><dd>all steps, or only those that matter</dd>\
         <dt><kbd>t</kbd></dt><dd>light or dark</dd></dl></section>"
    )
}

/// How many of what.
fn summary(dossier: &Dossier<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut counts: BTreeMap<(Kind, Strength), usize> = BTreeMap::new();
    let (information, defects): (Vec<&Item>, Vec<&Item>) =
        dossier.report.findings.iter().partition(|item| item.is_information());
    for item in defects {
        *counts.entry((item.kind, item.strength)).or_default() += 1;
    }
    if counts.is_empty() && information.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section class=\"summary\" aria-labelledby=\"summary\"><h2 id=\"summary\">Summary</h2>")?;
    if !counts.is_empty() {
        table(&counts, out)?;
    }
    match information.len() {
        0 => {}
        1 => writeln!(out, "<p>1 read depends on the schedule (information, no defect).</p>")?,
        many => writeln!(out, "<p>{many} reads depend on the schedule (information, no defects).</p>")?,
    }
    if let Some(against) = &dossier.report.baseline {
        let of = |state| dossier.report.findings.iter().filter(|item| item.baseline == Some(state)).count();
        let (new, known, gone) = (of(Novelty::New), of(Novelty::Known), against.gone.len());
        writeln!(
            out,
            "<p>Against <code>{}</code>: {new} new, {known} known, {gone} gone.</p>",
            html_short(&against.file)
        )?;
    }
    let mut unsettled = Vec::new();
    // Writing to memory cannot fail.
    let _ = crate::text::write_undecided(dossier.report, &mut unsettled);
    for line in String::from_utf8_lossy(&unsettled).lines() {
        writeln!(out, "<p class=\"unsettled\">{}</p>", html(line))?;
    }
    writeln!(out, "</section>")
}

fn table(counts: &BTreeMap<(Kind, Strength), usize>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<table><thead><tr><th scope=\"col\">kind</th>")?;
    for strength in STRENGTHS {
        write!(out, "<th scope=\"col\"><span class=\"badge {strength}\">{strength}</span></th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for kind in KINDS {
        let row: Vec<usize> =
            STRENGTHS.iter().map(|strength| counts.get(&(kind, *strength)).copied().unwrap_or(0)).collect();
        if row.iter().all(|&count| count == 0) {
            continue;
        }
        write!(out, "<tr><th scope=\"row\">{kind}</th>")?;
        for count in row {
            write!(out, "<td>{}</td>", if count == 0 { "·".into() } else { count.to_string() })?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table>")
}

fn filters(dossier: &Dossier<'_>, out: &mut dyn Write) -> io::Result<()> {
    if dossier.report.findings.len() < 2 {
        return Ok(());
    }
    writeln!(out, "<form class=\"filters\" data-script aria-label=\"Filters\">")?;
    let has = |is: &dyn Fn(&Item) -> bool| dossier.report.findings.iter().any(is);
    let strengths =
        STRENGTHS.iter().filter(|strength| has(&|item| item.strength == **strength && !item.is_information()));
    let kinds = KINDS.iter().filter(|kind| has(&|item| item.kind == **kind));
    let information = has(&Item::is_information).then_some(finding::INFORMATION);
    let strengths: Vec<&str> = strengths.map(|strength| strength.name()).chain(information).collect();
    let kinds: Vec<&str> = kinds.map(|kind| kind.name()).collect();
    for (legend, names) in [("strength", strengths), ("kind", kinds)] {
        write!(out, "<fieldset><legend>{legend}</legend>")?;
        for name in names {
            write!(out, "<label><input type=\"checkbox\" data-{legend}=\"{name}\" checked> {name}</label>")?;
        }
        writeln!(out, "</fieldset>")?;
    }
    if related::folded(&dossier.report.findings).iter().any(|group| !group.others.is_empty()) {
        writeln!(out, "<label><input type=\"checkbox\" id=\"fold\" checked> each bug once</label>")?;
    }
    writeln!(
        out,
        "<label class=\"search\">text <input type=\"search\" id=\"text\" placeholder=\"function, file, variable\" \
         autocomplete=\"off\"></label>\n<p id=\"count\" role=\"status\"></p></form>"
    )
}

/// What an earlier report had.
fn gone(dossier: &Dossier<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(against) = dossier.report.baseline.as_ref().filter(|against| !against.gone.is_empty()) else {
        return Ok(());
    };
    writeln!(out, "<section aria-labelledby=\"gone\"><h2 id=\"gone\">Gone</h2><ul class=\"gone\">")?;
    for one in &against.gone {
        writeln!(out, "<li>{} ({})</li>", html_short(&one.summary), one.kind)?;
    }
    writeln!(out, "</ul></section>")
}

fn footer(dossier: &Dossier<'_>, out: &mut dyn Write) -> io::Result<()> {
    let stat = |name: &str| dossier.report.stats.get(name).copied().unwrap_or(0);
    let mut parts = Vec::new();
    for (name, what) in [("events", "events looked at"), ("schedules", "further schedules tried")] {
        if stat(name) > 0 {
            parts.push(format!("{} {what}", stat(name)));
        }
    }
    writeln!(
        out,
        "<footer><p>{}</p><p><b>confirmed</b>: a run did it, and its schedule replays it · <b>predicted</b>: a checked reordering \
         of the recorded run shows it · <b>potential</b>: a pattern, may be false</p>\
         <noscript><p>Without scripts there are no filters and no interleaving views; everything else is here.</p></noscript></footer>",
        html(&parts.join(" · "))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_allows_the_script_of_this_page() {
        let wanted = crate::sha256::base64(&crate::sha256::sha256(SCRIPT.as_bytes()));
        assert_eq!(SCRIPT_SHA256.trim(), wanted, "write this into src/html/page.js.sha256");
    }
}
