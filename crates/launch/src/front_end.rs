//! The seam between starting programs and knowing them: what `launch` asks of a front end.
//!
//! A front end knows one kind of program (native ones, scripts …): how to recognise and start it, what its code
//! addresses mean, and what cannot be seen of it. Everything else about it is data that its traces carry
//! ([`Language`]): where stacks lie, which files are libraries, what to advise. Its other half runs inside the program,
//! on top of `guest` and `conductor`.
//!
//! The list of front ends ([`FrontEnds`]) is made in one place by whoever starts programs, and handed in: there is no
//! global one.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use reweave_model::Pc;
use reweave_trace::{Language, Module, Symbols};

use crate::target::Program;
use crate::{Error, Result};

/// How much of a program can be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visibility {
    /// Accesses and synchronization.
    Full,
    /// Synchronization only.
    Synchronization,
    /// Nothing of itself, but perhaps of what it starts: a script, a test runner.
    WhatItStarts,
    Nothing,
}

/// What a front end says about a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recognition {
    /// It is no program of this front end.
    NotMine,
    /// It is, and it can be started.
    Program(Visibility),
    /// It is, but it cannot be started here, and why: completes `PROGRAM: …`.
    Refused(String),
}

/// How a program is started: what takes the place of its path, arguments and environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    pub path: PathBuf,
    /// What it finds as its own name.
    pub name: OsString,
    pub args: Vec<OsString>,
    /// Variables set, or removed, for the program over everything else.
    pub env: Vec<(OsString, Option<OsString>)>,
}

impl Invocation {
    /// As a shell would start it.
    pub fn of(program: &Program) -> Self {
        Self { path: program.path.clone(), name: program.name.clone(), args: program.args.clone(), env: Vec::new() }
    }

    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.env.push((name.into(), Some(value.into())));
    }

    pub fn remove(&mut self, name: impl Into<OsString>) {
        self.env.push((name.into(), None));
    }

    /// The value that the program gets.
    pub fn variable(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        let own = self.env.iter().rev().find(|(own, _)| own == name.as_ref());
        own.and_then(|(_, value)| value.as_deref())
    }
}

/// A process of a run that wants to be recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    pub pid: u32,
    /// The file that it runs; empty if that cannot be found out.
    pub executable: String,
    /// Its command line, its own name first.
    pub command: Vec<String>,
}

/// A program that is to be run by a debugger.
#[derive(Clone, Copy, Debug)]
pub struct Debugging<'a> {
    pub program: &'a Program,
    /// How it would be started without one; what it needs to reach the session is in its environment.
    pub invocation: &'a Invocation,
    /// What it reads, if not what we read.
    pub input: Option<&'a Path>,
    /// Further arguments for the debugger.
    pub extra: &'a [OsString],
    /// Where the thread stands that is about to do it, if that is known.
    pub function: Option<&'a str>,
    /// The memory it is about, if that is known.
    pub watched: Option<&'a WatchedMemory>,
    /// What the threads are called, in the order in which they begin.
    pub threads: &'a [String],
}

/// Memory that a debugger is to watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WatchedMemory {
    /// A variable of the program.
    Named(String),
    /// What lies there in every run.
    At { address: u64, size: u64 },
}

/// A debugger with its arguments, ready to start.
#[derive(Debug)]
pub struct Debugger {
    pub command: Command,
    /// What to do if it is not installed.
    pub how_to_get: String,
}

/// What became of a program of which not everything was seen.
#[derive(Clone, Copy, Debug)]
pub struct Coverage<'a> {
    pub program: &'a Program,
    /// Some process of it was recorded, if only its synchronization.
    pub recorded: bool,
}

/// Variables that decide how programs run: they are kept with a trace. Not all of them: an environment holds secrets.
#[derive(Clone, Copy, Default, Debug)]
pub struct Variables {
    pub names: &'static [&'static str],
    pub prefixes: &'static [&'static str],
}

impl Variables {
    pub fn contain(&self, name: &str) -> bool {
        self.names.contains(&name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}

/// What is known about one kind of program.
///
/// Nothing here runs while events are recorded: a call may take its time.
pub trait FrontEnd: Debug + Send + Sync {
    /// For people and for logs: `native`.
    fn name(&self) -> &'static str;

    /// What its programs are written in, for their traces.
    fn language(&self) -> Language;

    /// Whether this file is a program of this front end, and what can be seen of it.
    ///
    /// # Errors
    /// If the file cannot be read. One that may be run but not read is not an error.
    fn recognise(&self, file: &Path) -> io::Result<Recognition>;

    /// Whether programs are files that something else reads: such a file need not be executable, and one of the current
    /// folder may be named without `./`.
    fn is_interpreted(&self) -> bool {
        false
    }

    /// How to start a program so that it can be recorded. The session's address is set by the caller.
    fn invocation(&self, program: &Program) -> Result<Invocation>;

    /// Whether its programs may start others.
    fn starts_others(&self) -> bool {
        true
    }

    /// Variables by which programs of this front end are recorded that a program of another one starts.
    fn variables_for_others(&self) -> Result<Vec<(OsString, OsString)>> {
        Ok(Vec::new())
    }

    /// Variables that decide how its programs run.
    fn replay_variables(&self) -> Variables {
        Variables::default()
    }

    /// Whether a process that introduced itself runs a program of this front end.
    fn is_own_process(&self, process: &Process) -> bool;

    /// The program that a process runs, the same in every run: a schedule is for the process that runs what was
    /// recorded.
    fn executable(&self, process: &Process) -> String {
        process.executable.clone()
    }

    /// Which build of a program this file is, for people: the same text for the same program. `None`: it cannot be read.
    fn build(&self, executable: &Path) -> Option<String> {
        crate::identity::of_content(executable)
    }

    /// Its number among processes that are started together to do the same.
    fn rank(&self, process: &Process) -> Option<u32> {
        let _ = process;
        None
    }

    /// What code addresses (return addresses, sorted) in these modules mean. What is not known is left out; nothing
    /// fails.
    fn symbols(&self, modules: &[Module], pcs: &[Pc]) -> Symbols;

    /// Whether the threads of its programs can run free between synchronizations.
    fn runs_free(&self) -> bool {
        false
    }

    /// Where the code of a function of this name lies in a process that has just introduced itself: begin and end of
    /// each piece, none if there is no such function. `None`: functions of these programs cannot be left out.
    fn code_of(&self, process: &Process, function: &str) -> Option<Vec<[u64; 2]>> {
        let _ = (process, function);
        None
    }

    /// What the user should know if nothing was recorded, or only synchronization: completes `reweave: …`.
    fn shortcoming(&self, seen: &Coverage<'_>) -> String;

    /// What cannot be seen of a program although it was built for us: completes `reweave: …`.
    fn blind_spot(&self, executable: &Path) -> Option<String> {
        let _ = executable;
        None
    }

    /// Starts a program in a debugger that can be stopped right before a bug.
    fn debugger(&self, debugging: &Debugging<'_>) -> Result<Debugger> {
        Err(Error::Missing {
            what: format!("a debugger for {}", debugging.program.name.display()),
            next: "replay without one".into(),
        })
    }
}

/// The front ends of a build, in the order in which they are asked: one that takes whatever can be run comes last.
#[derive(Clone, Copy, Default, Debug)]
pub struct FrontEnds(&'static [&'static dyn FrontEnd]);

impl FrontEnds {
    pub const fn new(all: &'static [&'static dyn FrontEnd]) -> Self {
        Self(all)
    }

    pub fn iter(self) -> impl Iterator<Item = &'static dyn FrontEnd> {
        self.0.iter().copied()
    }

    /// Who knows this file, and what it says about it. `None`: nobody.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn recognise(self, file: &Path) -> io::Result<Option<(&'static dyn FrontEnd, Recognition)>> {
        for front_end in self.iter() {
            match front_end.recognise(file)? {
                Recognition::NotMine => {}
                known => return Ok(Some((front_end, known))),
            }
        }
        Ok(None)
    }

    /// Who knows this process.
    pub fn of_process(self, process: &Process) -> Option<&'static dyn FrontEnd> {
        self.iter().find(|front_end| front_end.is_own_process(process))
    }

    /// Whether a variable decides how a program runs.
    pub fn decides(self, variable: &str) -> bool {
        self.iter().any(|front_end| front_end.replay_variables().contain(variable))
    }
}
