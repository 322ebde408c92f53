//! The documentation is true: what is generated is up to date, links lead somewhere, and every command in it runs.
//!
//! `REWEAVE_UPDATE_DOCS=1 cargo test -p reweave --test docs` writes the generated pages anew.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::console::{Line, console};
use common::{REWEAVE, Scratch, root};

fn book() -> PathBuf {
    root().join("docs/book/src").canonicalize().expect("the book")
}

fn help(arguments: &[&str]) -> String {
    let output = Command::new(REWEAVE).args(arguments).env("COLUMNS", "100").output().expect("reweave starts");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The subcommands, as the help lists them.
fn commands() -> Vec<String> {
    let all = help(&["--help"]);
    let (_, rest) = all.split_once("Commands:\n").expect("a list of commands");
    let names = rest
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[track_caller]
fn up_to_date(path: &Path, wanted: &str) {
    if std::env::var_os("REWEAVE_UPDATE_DOCS").is_some() {
        fs::write(path, wanted).expect("written");
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == wanted,
        "{} is out of date: REWEAVE_UPDATE_DOCS=1 cargo test -p reweave --test docs",
        path.display()
    );
}

#[test]
fn the_command_reference_is_what_help_says() {
    let mut text = String::from("# Commands\n\n<!-- Generated from `--help`: see crates/cli/tests/docs.rs -->\n\n");
    text += &format!("```text\n{}```\n", help(&["--help"]));
    for name in commands() {
        // All words behind these are the compiler's.
        if ["cc", "c++", "fc"].contains(&name.as_str()) {
            let about = help(&["help", &name]);
            text += &format!("\n## reweave {name}\n\n```text\n{about}```\n");
            continue;
        }
        text += &format!("\n## reweave {name}\n\n```text\n{}```\n", help(&[&name, "--help"]));
    }
    up_to_date(&book().join("commands.md"), &text);
}

/// The module doc of a file.
fn module_doc(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let doc = lines.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n").collect::<String>();
    // Links into the code lead nowhere here.
    Some(without_code_links(&doc).replace("crate::", "").replace("[`", "`").replace("`]", "`"))
}

/// Takes `](path::to::item)` away, which only rustdoc understands.
fn without_code_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let end = rest[at..].find(')').map_or(rest.len(), |end| at + end + 1);
        let target = &rest[at + 2..end - 1];
        if target.contains("::") || !target.contains(['/', '.', '#']) {
            let (before, name) = rest[..at].rsplit_once('[').unwrap_or(("", &rest[..at]));
            out += &format!("{before}{name}");
        } else {
            out += &rest[..end];
        }
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn the_analyses_are_what_their_modules_say() {
    let sources = root().join("crates/predict/src");
    let mut text = String::from(
        "# Analyses\n\n<!-- Generated from the modules of crates/predict: see crates/cli/tests/docs.rs -->\n\n\
         `reweave predict TRACE --analysis NAME,NAME` chooses; those marked * run by default.\n",
    );
    let mut told = BTreeSet::new();
    for analysis in reweave_predict::ANALYSES {
        let name = analysis.id();
        text += &format!(
            "\n## {name}{}\n\n{}.\n",
            if analysis.about().is_default { " *" } else { "" },
            analysis.about().summary
        );
        // One module may hold several.
        let file = format!("analyses/{}", analysis.about().module());
        let paths = [sources.join(format!("{file}.rs")), sources.join(&file).join("mod.rs")];
        let doc = paths.iter().find_map(|path| module_doc(path)).unwrap_or_else(|| panic!("{name}: no module {file}"));
        assert!(!doc.trim().is_empty(), "{file} has no module doc");
        if told.insert(file) {
            text += &format!("\n{doc}");
        } else {
            text += "\nSee above: one module holds both.\n";
        }
    }
    up_to_date(&book().join("analyses.md"), &text);
}

/// All pages that people read.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("ARCHITECTURE.md"), root().join("CONTRIBUTING.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "md") {
                pages.push(entry);
            }
        }
    }
    pages.sort();
    pages
}

/// Text without code blocks and inline code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence && !line.starts_with("    ")
    });
    let lines: Vec<&str> = lines.collect();
    lines.join("\n").split('`').step_by(2).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings =
        text.lines().filter_map(|line| line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()));
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect::<String>()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut looked_at = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let prose = prose(&text);
        for (at, _) in prose.match_indices("](") {
            let target = prose[at + 2..].split([')', ' ']).next().unwrap_or_default();
            looked_at += 1;
            if target.starts_with("http") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            assert!(path.exists(), "{}: {target} is not there", page.display());
            // A page of the book may link only to what is part of the book.
            if page.starts_with(book()) {
                assert!(path.canonicalize().expect("a path").starts_with(book()), "{}: {target}", page.display());
            }
            if !anchor.is_empty() {
                let there = anchors(&fs::read_to_string(&path).expect("a page"));
                assert!(there.contains(anchor), "{}: no heading for #{anchor}", page.display());
            }
        }
        for (at, _) in text.match_indices("{{#include ") {
            let target = text[at + 11..].split(['}', ':']).next().unwrap_or_default().trim();
            assert!(page.parent().expect("a folder").join(target).exists(), "{}: {target}", page.display());
        }
    }
    assert!(looked_at > 20, "{looked_at} links");
}

#[test]
fn the_summary_lists_every_page_of_the_book() {
    let summary = fs::read_to_string(book().join("SUMMARY.md")).expect("a summary");
    for page in pages().iter().filter(|page| page.starts_with(book())) {
        let name = page.strip_prefix(book()).expect("inside").display().to_string();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name} is not in the summary");
    }
}

fn commands_of(page: &Path) -> Vec<Line> {
    console(&fs::read_to_string(page).expect("a page"))
}

/// Runs the commands of a page with the `reweave` under test. Those of cargo need the repository around them: they are
/// run from a fresh clone (`fresh_clone.rs`).
fn follow(page: &Path) {
    let mut lines = commands_of(page);
    lines.retain(|line| !line.command.starts_with("cargo "));
    assert!(!lines.is_empty(), "{} has no commands", page.display());
    let scratch = Scratch::new("docs");
    let programs = scratch.join("bin");
    fs::create_dir(&programs).expect("a folder");
    std::os::unix::fs::symlink(REWEAVE, programs.join("reweave")).expect("a link");
    let start = scratch.join("start");
    fs::create_dir(&start).expect("a folder");
    common::console::follow(&lines, &start, &scratch.join("home"), &programs, &[]);
}

#[test]
fn the_tour_of_the_readme_runs() {
    follow(&root().join("README.md"));
}

#[test]
fn getting_started_runs() {
    follow(&book().join("getting-started.md"));
}

#[test]
fn writing_a_front_end_runs() {
    follow(&book().join("writing-a-front-end.md"));
}

#[test]
fn living_with_findings_runs() {
    follow(&book().join("living-with-findings.md"));
}

#[test]
fn the_example_of_each_kind_runs() {
    for entry in fs::read_dir(book().join("findings")).expect("a folder") {
        follow(&entry.expect("readable").path());
    }
}

#[test]
fn every_page_with_commands_is_run() {
    let run = ["README.md", "getting-started.md", "living-with-findings.md", "writing-a-front-end.md"];
    for page in pages() {
        let name = page.file_name().and_then(|name| name.to_str()).expect("a name");
        let in_findings = page.parent().is_some_and(|folder| folder.ends_with("findings"));
        let has = !commands_of(&page).is_empty();
        assert!(!has || in_findings || run.contains(&name), "no test follows {}", page.display());
    }
}

/// Commands stand where they are run: in `console` blocks. What is set apart in other ways is looked at for them.
#[test]
fn no_command_stands_outside_of_the_blocks_that_are_run() {
    // This is what runs the test.
    let excepted = ["cargo xtask test"];
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let mut fence = None;
        for line in text.lines() {
            if let Some(language) = line.strip_prefix("```") {
                fence = if fence.is_some() { None } else { Some(language) };
                assert!(!matches!(fence, Some("sh" | "bash" | "shell")), "{}: {line}", page.display());
                continue;
            }
            let command = line.trim_start();
            let set_apart = fence.is_none() && line.starts_with("    ");
            let commands = ["reweave ", "cargo ", "ln ", "CC=", "mdbook ", "$ "];
            // The format of schedules begins with its own name.
            let is_command = commands.iter().any(|start| command.starts_with(start)) && command != "reweave schedule 1";
            assert!(!set_apart || !is_command || excepted.contains(&command), "{}: {line}", page.display());
        }
    }
}

#[test]
fn completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = help(&["completions", shell]);
        assert!(script.contains("reweave") && script.contains("replay"), "{shell}: {script}");
    }
    assert!(help(&["man"]).contains(".TH reweave 1"), "{}", help(&["man"]));
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = scratch.path().display().to_string();
    assert!(Command::new(REWEAVE).args(["man", "-o", &folder]).status().expect("reweave starts").success());
    for name in commands() {
        let page = fs::read_to_string(scratch.path().join(format!("reweave-{name}.1"))).unwrap_or_default();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
}
