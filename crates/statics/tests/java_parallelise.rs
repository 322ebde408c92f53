//! Loops and neighbouring calls of Java programs: comments in the programs say which could run at the same time. What
//! could not must never be called parallelisable.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reweave_statics::java::parallelise::{Answer, Candidate, candidates, parallelise};
use reweave_statics::question::Question;

fn said(answer: &Answer) -> String {
    match answer {
        Answer::Parallelisable { reductions } if reductions.is_empty() => "parallelisable".to_owned(),
        Answer::Parallelisable { .. } => "reduction".to_owned(),
        Answer::Not(why) => format!("not: {}", why.join("; ")),
    }
}

/// How many comments were looked at, and what is not as they say.
fn look(classes: &Path, main: &str, text: &str) -> (usize, Vec<String>) {
    let paths: Vec<PathBuf> = vec![classes.to_owned()];
    let question = Question { main: Some(main.to_owned()), ..Question::default() };
    let all: Vec<Candidate> = candidates(&paths, &question).unwrap_or_else(|why| panic!("{why:?}"));
    let (mut looked, mut wrong) = (0, Vec::new());
    for (line, text) in (1u32..).zip(text.lines()) {
        let Some((word, expected)) = text.split_once("// ").and_then(|(_, words)| words.split_once(": ")) else {
            continue;
        };
        let is_meant = |one: &&Candidate| match word {
            "turns" => one.is_loop && one.lines[0].0 == line,
            _ => !one.is_loop && one.lines[1].0 == line && one.lines[0].0 + 2 >= line,
        };
        // Where several end there, the last two calls are meant.
        let Some(one) = all.iter().filter(is_meant).max_by_key(|one| one.lines[0].0) else {
            wrong.push(format!("{main}:{line}: {word}: nothing is there"));
            continue;
        };
        let said = said(&parallelise(&paths, &question, one).unwrap_or_else(|why| panic!("{why:?}")));
        if said.split(':').next() != Some(expected) {
            wrong.push(format!("{main}:{line}: {word}: {expected}: it says {said}"));
        }
        looked += 1;
    }
    (looked, wrong)
}

#[test]
fn loops_and_calls_are_as_programs_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/java/parallelise");
    let out = tempfile::tempdir().expect("a folder");
    for (main, least) in [("Kernels", 30), ("Traps", 36)] {
        let file = folder.join(format!("{main}.java"));
        match Command::new("javac").args(["-g", "-nowarn", "-d"]).arg(out.path()).arg(&file).output() {
            Err(_) => return eprintln!("SKIPPED loops_and_calls_are_as_programs_say: no JDK (javac)"),
            Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
        }
        let (looked, wrong) = look(out.path(), main, &fs::read_to_string(&file).expect("a program"));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(looked >= least, "{main}: {looked}");
    }
}
