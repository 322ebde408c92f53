//! The book as readers get it: mdBook builds it without a warning, and in the pages it makes every link leads to a
//! page, and to a place on it, that is there. Left out, with a message, where there is no mdBook (`cargo xtask test`
//! installs it).

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use common::{Scratch, root, run, skip};

/// In PATH, or where `cargo xtask test` puts it.
fn mdbook() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([root().join("target/tools/bin")]);
    folders.map(|folder| folder.join("mdbook")).find(|file| file.is_file())
}

/// All files below a folder, by their path.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()) {
        if entry.is_dir() {
            found.append(&mut files(&entry));
        } else {
            found.insert(entry);
        }
    }
    found
}

/// The values of an attribute. mdBook quotes them all.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let opening = format!(" {name}=\"");
    page.match_indices(&opening).filter_map(|(at, _)| page[at + opening.len()..].split('"').next()).collect()
}

/// `a/b/../c` without the detour.
fn straight(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(out.pop()),
            std::path::Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

#[test]
fn the_book_builds_and_its_links_lead_somewhere() {
    let Some(mdbook) = mdbook() else {
        skip("the book", "no mdbook: cargo install mdbook --locked --no-default-features --root target/tools");
        return;
    };
    let scratch = Scratch::new("book");
    let mut build = scratch.command(mdbook);
    build.arg("build").arg(root().join("docs/book")).arg("--dest-dir").arg(scratch.join("out")).env_remove("RUST_LOG");
    let done = run(&mut build);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");

    let files = files(&scratch.join("out"));
    let is_page = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "html");
    let read = |file: &PathBuf| (file.clone(), fs::read_to_string(file).expect("a page"));
    let pages: BTreeMap<PathBuf, String> = files.iter().filter(is_page).map(read).collect();
    let mut looked_at = 0;
    for (page, text) in &pages {
        // Its addresses are those of the site that it is put on.
        if page.ends_with("404.html") {
            continue;
        }
        let outside = |link: &str| ["http://", "https://", "mailto:", "data:"].iter().any(|way| link.starts_with(way));
        for link in attributes(text, "href").into_iter().chain(attributes(text, "src")).filter(|link| !outside(link)) {
            looked_at += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { page.clone() } else { straight(&page.parent().expect("a folder").join(file)) };
            assert!(files.contains(&target), "{}: {link} is not there", page.display());
            if let Some(there) = pages.get(&target).filter(|_| !anchor.is_empty()) {
                let known = attributes(there, "id").contains(&anchor) || attributes(there, "name").contains(&anchor);
                assert!(known, "{}: no {link} there", page.display());
            }
        }
    }
    // Fewer would mean that links are not recognised any more.
    assert!(pages.len() > 15 && looked_at > 300, "{} pages, {looked_at} links", pages.len());
}
