//! Everything that can go wrong when running a target. Each message says what, where, and what to do next.

use std::io;
use std::path::{Path, PathBuf};

use crate::exit;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(thiserror::Error, Debug)]
pub enum Error {
    #[error("{program}: no such program in this folder or in PATH: check the name, or build it first")]
    NotFound { program: String },

    #[error("{program}: not executable: `chmod +x` it, or name the interpreter (for example `-- sh {program}`)")]
    NotExecutable { program: String },

    #[error("{program}: only threads of C and C++ programs can run free: leave --free out")]
    NotFree { program: String },

    #[error("{program}: {why}")]
    Refused { program: String, why: String },

    #[error("{program}: cannot be run: {source}")]
    CannotRun { program: String, source: io::Error },

    #[error("cannot {action} {path}: {source}: check the permissions, or choose another place with -o")]
    Output { action: &'static str, path: PathBuf, source: io::Error },

    #[error("cannot {action} {path}: {source}{}", next_step(.source))]
    Io { action: &'static str, path: PathBuf, source: io::Error },

    #[error("{0}")]
    Trace(#[from] reweave_trace::Error),

    #[error("{0}")]
    FrontEnd(Box<dyn std::error::Error + Send + Sync>),

    #[error("{action} failed: {source}: reweave needs a Linux kernel from 5.6 on that allows it")]
    System { action: &'static str, source: io::Error },

    #[error(
        "{trace}: no thread reached {line}: name a line with a memory access or a synchronization that the run \
         executed (`reweave inspect --events` lists them)"
    )]
    NoSuchLine { line: String, trace: PathBuf },

    #[error("{folder} is too large to be copied for every run (--isolate): run reweave from a folder with less in it")]
    TooMuchToCopy { folder: PathBuf },

    #[error("{path}: {why}")]
    NotReplayable { path: PathBuf, why: String },

    #[error("{what} is not here: {next}")]
    Missing { what: String, next: String },

    #[error("nothing was recorded of {program}: {why}")]
    NothingRecorded { program: String, why: String },
}

/// For a file that is not there.
fn next_step(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => ": check the name, and the folder that you are in",
        _ => "",
    }
}

impl Error {
    pub fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub fn output<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Output { action, path: path.to_owned(), source }
    }

    /// What went wrong in a front end; the message is its own.
    pub fn front_end(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::FrontEnd(Box::new(source))
    }

    pub fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    pub const fn exit_code(&self) -> i32 {
        match self {
            Self::NotFound { .. } | Self::NotExecutable { .. } | Self::Refused { .. } | Self::CannotRun { .. } => {
                exit::CANNOT_RUN
            }
            Self::System { .. } => exit::INTERNAL,
            _ => exit::USAGE,
        }
    }
}
