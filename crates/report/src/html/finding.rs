//! One finding as markup: what, where with source, the story, and where the script puts its interleavings.

use std::io::{self, Write};

use reweave_model::{Kind, Novelty};

use crate::data::{AccessItem, Item, Location};
use crate::dossier::Dossier;
use crate::escape::{html, html_short};
use crate::pattern::Pattern;
use crate::related::Group;
use crate::story::Emphasis;
use crate::view::cut;
use crate::{reads, story, text};

/// In the place of how sure something is that is no defect.
pub const INFORMATION: &str = "information";
/// Lines shown around an access.
const AROUND: u32 = 2;
const CALLERS: usize = 6;

/// A bug: its strongest finding, which names the others, and these behind it; the script shows them on demand.
pub fn write(dossier: &Dossier<'_>, group: &Group<'_>, open: bool, out: &mut dyn Write) -> io::Result<()> {
    let also = text::also(group).iter().map(|line| also_line(group, line)).collect::<String>();
    let also = if also.is_empty() { also } else { format!("<ul class=\"also\">{also}</ul>\n") };
    let pattern = Pattern::of(group).filter(|_| group.lead.is_proven());
    let pattern =
        pattern.map_or(String::new(), |pattern| format!("<p class=\"note\">{}.</p>\n", html(&pattern.to_string())));
    one(dossier, group.lead, "", &format!("{pattern}{also}"), open, out)?;
    let lead = format!(" data-lead=\"{}\"", group.lead.id);
    group.others.iter().try_for_each(|(item, _)| one(dossier, item, &lead, "", false, out))
}

/// With links to the findings of the group.
fn also_line(group: &Group<'_>, line: &str) -> String {
    let mut line = html_short(line);
    for (other, _) in &group.others {
        let id = other.id;
        line = line.replace(&format!("[{id}]"), &format!("<a href=\"#finding-{id}\">[{id}]</a>"));
    }
    format!("<li>also {line}</li>")
}

fn one(
    dossier: &Dossier<'_>,
    item: &Item,
    attributes: &str,
    also: &str,
    open: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let id = item.id;
    let state = match (&item.suppressed, item.baseline) {
        (Some(_), _) => "<span class=\"badge\">suppressed</span>",
        (None, Some(Novelty::New)) => "<span class=\"badge\">new</span>",
        (None, Some(Novelty::Known)) => "<span class=\"badge\">known</span>",
        _ => "",
    };
    let strength = if item.is_information() { INFORMATION } else { item.strength.name() };
    writeln!(
        out,
        "<details class=\"finding\" id=\"finding-{id}\" data-id=\"{id}\" data-kind=\"{}\" data-strength=\"{}\"{attributes}{}>\n\
         <summary><h2><span class=\"id\">[{id}]</span> <span class=\"badge {}\">{}</span> \
         <span class=\"badge kind\">{}</span>{state} <span class=\"what\">{}</span></h2></summary>",
        item.kind,
        strength,
        if open { " open" } else { "" },
        strength,
        strength,
        item.kind,
        html_short(&item.summary)
    )?;
    if let Some(reason) = &item.suppressed {
        writeln!(out, "<p class=\"note\">Suppressed: {}</p>", html_short(reason))?;
    }
    accesses(dossier, item, out)?;
    facts(dossier, item, out)?;
    write!(out, "{also}")?;
    let evidence = dossier.evidence(item);
    write_story(&story::of_item(item, &evidence), out)?;
    if evidence.failing.is_some() || evidence.observed.is_some() {
        writeln!(out, "<div class=\"views\" data-script data-views=\"{id}\"></div>")?;
    }
    writeln!(out, "</details>")
}

fn place(dossier: &Dossier<'_>, location: &Location) -> String {
    let shown =
        Location { file: dossier.shown_path(&location.file), line: location.line, function: cut(&location.function) };
    html_short(&shown.to_string())
}

fn accesses(dossier: &Dossier<'_>, item: &Item, out: &mut dyn Write) -> io::Result<()> {
    if item.accesses.is_empty() {
        return Ok(());
    }
    writeln!(out, "<ol class=\"accesses\">")?;
    for (number, access) in (1..).zip(&item.accesses) {
        write!(
            out,
            "<li><p><span class=\"mark\">{number}</span> <b>{}</b>{} by {}{} at <span class=\"place\">{}</span></p>",
            html_short(&access.op.to_string()),
            html(reads::role(item, number)),
            access.thread_label(),
            access.library_function().map_or(String::new(), |name| format!(" in {}, called", html_short(&cut(name)))),
            place(dossier, &access.location)
        )?;
        excerpt(dossier, access, out)?;
        if !access.stack.is_empty() {
            write!(out, "<ul class=\"stack\">")?;
            for frame in access.stack.iter().take(CALLERS) {
                write!(out, "<li>called from {}</li>", place(dossier, frame))?;
            }
            if access.stack.len() > CALLERS {
                write!(out, "<li>… and {} more</li>", access.stack.len() - CALLERS)?;
            }
            write!(out, "</ul>")?;
        }
        match access.locks_held[..] {
            [] if item.kind == Kind::Race => write!(out, "<p class=\"held\">holding no lock</p>")?,
            [] => {}
            _ => write!(out, "<p class=\"held\">holding {}</p>", html_short(&access.held()))?,
        }
        writeln!(out, "</li>")?;
    }
    writeln!(out, "</ol>")
}

fn excerpt(dossier: &Dossier<'_>, access: &AccessItem, out: &mut dyn Write) -> io::Result<()> {
    let Location { file, line, .. } = &access.location;
    let lines = dossier.sources.around(file, *line, AROUND);
    if lines.iter().all(|(number, _)| number != line) {
        return Ok(());
    }
    write!(out, "<pre class=\"source\"><code>")?;
    for (number, text) in lines {
        let class = if number == *line { " class=\"here\"" } else { "" };
        write!(out, "<span{class}><span class=\"no\">{number:>5}</span> {}</span>", html_short(&text))?;
    }
    write!(out, "</code></pre>")
}

fn facts(dossier: &Dossier<'_>, item: &Item, out: &mut dyn Write) -> io::Result<()> {
    if let Some(of_text) = &item.of_text {
        writeln!(out, "<p class=\"note\">By the program's text: {}</p>", html_short(&of_text.why))?;
    }
    if let Some(view) = &item.view {
        let mut lines = Vec::new();
        // Writing to memory cannot fail.
        let _ = reads::write(view, &mut lines);
        for line in String::from_utf8_lossy(&lines).lines() {
            writeln!(out, "<p>{}</p>", html_short(line.trim()))?;
        }
    }
    if let Some(outcome) = &item.outcome {
        let preemptions = match item.preemptions {
            Some(1) => ", with 1 preemption".to_owned(),
            Some(n) => format!(", with {n} preemptions"),
            None => String::new(),
        };
        writeln!(out, "<p class=\"outcome\">The run that did it <b>{}</b>{preemptions}.</p>", html_short(outcome))?;
    }
    if let Some(why) = &item.why_unconfirmed {
        writeln!(out, "<p class=\"note\">Not confirmed: {}</p>", html_short(why))?;
    }
    if let Some(command) = dossier.replay_command(item) {
        writeln!(
            out,
            "<p class=\"replay\">replay: <code>{}</code> <button type=\"button\" class=\"copy\" data-script>copy</button></p>",
            html_short(&command)
        )?;
    }
    Ok(())
}

fn write_story(story: &story::Story, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<div class=\"stories\">")?;
    if !story.happenings.is_empty() {
        writeln!(out, "<section class=\"story\"><h3>{}</h3><ol>", story.title())?;
        for happening in &story.happenings {
            write!(out, "<li><b class=\"who\">{}</b><ul>", html_short(&happening.who))?;
            for clause in &happening.clauses {
                let class = match clause.emphasis {
                    Emphasis::Lost => " class=\"lost\"",
                    Emphasis::Marked => " class=\"marked\"",
                    Emphasis::None => "",
                };
                write!(out, "<li{class}>{}</li>", html_short(&clause.text))?;
            }
            writeln!(out, "</ul></li>")?;
        }
        writeln!(out, "</ol></section>")?;
    }
    writeln!(out, "<div>")?;
    for (title, lines) in story.sections() {
        writeln!(out, "<section class=\"story\"><h3>{title}</h3>")?;
        for line in lines {
            writeln!(out, "<p>{}</p>", html_short(line))?;
        }
        writeln!(out, "</section>")?;
    }
    writeln!(out, "</div></div>")
}
