//! Every bad day that a program, a machine or a user can have: the run goes on, the trace hangs together, and what
//! there is to say is said clearly.

#[path = "../common/mod.rs"]
mod common;
mod files;
mod libraries;
mod machine;
mod processes;
mod programs;
mod steady;
mod threads;

use std::path::{Path, PathBuf};

use common::golden::Program;
use common::traces::{self, Checked};
use common::{Done, Scratch, root, run};

/// A program of `tests/bad_days`, built and run.
struct Day {
    scratch: Scratch,
    program: PathBuf,
    expected: i32,
}

impl Day {
    /// Builds a program with `reweave cc` and makes sure that without us it ends as its header says.
    fn new(source: &str) -> Self {
        let scratch = Scratch::new("day");
        let header = Program::read(&root().join("tests/bad_days").join(source));
        let program = scratch.build(&format!("bad_days/{source}"));
        let common::golden::Ending::Status(expected) = header.exit[0] else { panic!("{source}: exits by a status") };
        Self { scratch, program, expected }
    }

    fn trace(&self) -> PathBuf {
        self.scratch.join("run.rwt")
    }

    /// `reweave record` with these options, for the program with these arguments.
    fn command(&self, options: &[&str], arguments: &[&str]) -> std::process::Command {
        let mut command = self.scratch.reweave(["record", "-o", "run.rwt"]);
        // What a killed `reweave` leaves behind goes with the scratch folder.
        command.env("TMPDIR", self.scratch.path());
        command.args(options).arg("--").arg(&self.program).args(arguments);
        command
    }

    #[track_caller]
    fn record_with(&self, options: &[&str], arguments: &[&str]) -> Done {
        run(&mut self.command(options, arguments)).expect(self.expected)
    }

    /// Records it; it must end as its header says, with the last line that it prints without us.
    #[track_caller]
    fn record(&self) -> Done {
        let plain = run(&mut self.scratch.command(&self.program)).expect(self.expected);
        let done = self.record_with(&[], &[]);
        assert_eq!(done.last_line(), plain.last_line(), "{}", done.stderr);
        done
    }

    /// The trace of the first process, checked.
    #[track_caller]
    fn checked(&self) -> Checked {
        Checked::sound(&self.trace())
    }

    /// The traces of all processes, checked.
    #[track_caller]
    fn all(&self) -> Vec<Checked> {
        traces::all(&self.trace()).iter().map(|path: &PathBuf| Checked::sound(path)).collect()
    }

    /// Replays the recording, which must be identical; `happened`: it failed and fails again.
    #[track_caller]
    fn replays(&self, happened: bool) {
        let mut replay = self.scratch.reweave(["replay", "run.rwt"]);
        // As when it was recorded: the length of the environment decides where the program finds its arguments.
        run(replay.env("TMPDIR", self.scratch.path())).expect(i32::from(happened)).says("identically");
    }
}

/// Builds a library of `tests/bad_days` by a compiler (the words of a command).
#[track_caller]
fn library(scratch: &Scratch, compiler: &[&str], source: &str) -> PathBuf {
    let source = root().join("tests/bad_days").join(source);
    let output = scratch.join(&format!("lib{}.so", stem(&source)));
    let mut command = scratch.command(compiler[0]);
    command.args(&compiler[1..]).args(["-g", "-O1", "-shared", "-fPIC", "-pthread", "-o"]).arg(&output).arg(&source);
    run(&mut command).expect(0);
    output
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).expect("an ASCII name")
}
