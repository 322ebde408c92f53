//! The programs under `tests/`: their headers, and how to build them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Scratch, has, root, run};

/// A pair of compilers for `reweave cc` and `reweave c++`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compiler {
    pub cc: &'static str,
    pub cxx: &'static str,
}

pub const GCC: Compiler = Compiler { cc: "gcc", cxx: "g++" };
const CLANGS: [Compiler; 2] =
    [Compiler { cc: "clang", cxx: "clang++" }, Compiler { cc: "clang-19", cxx: "clang++-19" }];

/// Those that are installed, gcc first.
pub fn compilers() -> Vec<Compiler> {
    let installed = |one: &Compiler| has(one.cc) && has(one.cxx);
    let clang = CLANGS.into_iter().find(installed);
    [Some(GCC).filter(installed), clang].into_iter().flatten().collect()
}

/// One way in which a program may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The status, or 128 plus the signal.
    Status(i32),
    /// No thread can ever move again.
    Hang,
}

/// A program and what its header says.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub primitive: String,
    pub kind: String,
    /// Where it is.
    pub lines: Vec<u64>,
    pub flags: Vec<String>,
    pub stdin: Option<String>,
    pub exit: Vec<Ending>,
    pub about: String,
}

impl Program {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let header: Vec<(&str, &str)> = text
            .lines()
            .map_while(|line| line.strip_prefix("// "))
            .filter_map(|line| line.split_once(": "))
            .map(|(key, value)| (key, value.trim()))
            .collect();
        let get = |key| header.iter().find(|(found, _)| *found == key).map(|&(_, value)| value);
        let ending = |word: &str| match word {
            "hang" => Ending::Hang,
            number => Ending::Status(number.parse().unwrap_or_else(|_| panic!("{}: exit: {number}", path.display()))),
        };
        Self {
            path: path.to_owned(),
            primitive: get("primitive").unwrap_or_default().to_owned(),
            kind: get("kind").unwrap_or_default().to_owned(),
            lines: get("lines").unwrap_or_default().split_whitespace().filter_map(|line| line.parse().ok()).collect(),
            flags: get("flags").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
            stdin: get("stdin").map(|text| format!("{text}\n")),
            exit: get("exit").unwrap_or("0").split_whitespace().map(ending).collect(),
            about: get("about").unwrap_or_default().to_owned(),
        }
    }

    /// `mutex/bank_ok.c`
    pub fn name(&self) -> String {
        let golden = root().join("tests");
        let inside = self.path.strip_prefix(golden.join("golden")).or_else(|_| self.path.strip_prefix(&golden));
        inside.unwrap_or(&self.path).display().to_string()
    }

    pub fn is_ok(&self) -> bool {
        self.stem().ends_with("_ok")
    }

    pub fn is_bad(&self) -> bool {
        self.stem().ends_with("_bad")
    }

    pub fn is_cxx(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "cpp")
    }

    fn stem(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).expect("an ASCII name")
    }

    /// The command that builds it with the wrapper, at this level of optimisation.
    pub fn build_command(&self, scratch: &Scratch, compiler: Compiler, level: &str) -> (Command, PathBuf) {
        let output = scratch.join(self.stem());
        let mut command = scratch.reweave([if self.is_cxx() { "c++" } else { "cc" }]);
        command.env("REWEAVE_CC", compiler.cc).env("REWEAVE_CXX", compiler.cxx);
        if self.is_cxx() {
            command.arg("-std=c++20");
        }
        command.args(["-g", level, "-pthread", "-o"]).arg(&output).arg(&self.path).args(&self.flags);
        (command, output)
    }

    /// Builds it in the scratch folder.
    pub fn build(&self, scratch: &Scratch, compiler: Compiler, level: &str) -> Result<PathBuf, String> {
        let (mut command, output) = self.build_command(scratch, compiler, level);
        let done = run(&mut command);
        if done.code == Some(0) {
            return Ok(output);
        }
        Err(format!("{} does not build with {} {level}: {}{}", self.name(), compiler.cc, done.stdout, done.stderr))
    }
}

/// All programs in a folder of `tests/golden`, by name.
pub fn programs(folder: &str) -> Vec<Program> {
    let folder = root().join("tests/golden").join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths.iter().map(|path| Program::read(path)).collect()
}

/// The folders of `tests/golden`.
pub fn folders() -> Vec<String> {
    let entries = fs::read_dir(root().join("tests/golden")).expect("the golden programs");
    let names = entries.map(|entry| entry.expect("readable").file_name().into_string().expect("ASCII"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
