//! A recorded run of many ranks: a folder with one log for each rank, and how the run was started.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reweave_launch::{Error, Result, interrupt};
use serde::{Deserialize, Serialize};

use super::{RANKS, Unpacked};
use crate::event::Logs;
use crate::logfile::{self, Notes};
use crate::look::Look;
use crate::owner::Found;
use crate::session::{Ended, Output, Program};

/// The file that says how the run was started, and how it ended.
const FILE: &str = "run.json";

/// How a run was started and ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct About {
    command: Vec<String>,
    cwd: PathBuf,
    status: i32,
    timed_out: bool,
    seconds: f64,
}

/// What to record.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    pub command: &'a [OsString],
    pub cwd: &'a Path,
    /// When the run is given up. `None`: never.
    pub limit: Option<Duration>,
    /// Bytes that the log of one rank may take.
    pub max_log: Option<u64>,
    /// The ranks analyse what they do while they run.
    pub online: bool,
    /// What they look at.
    pub look: &'a Look,
}

/// A run as its ranks logged it.
pub struct Recording {
    pub logs: Logs,
    pub notes: Notes,
    /// What the ranks found while they ran.
    pub found: Vec<Found>,
    pub ended: Ended,
    pub command: Vec<OsString>,
    pub cwd: PathBuf,
    pub took: Duration,
    /// Bytes of all logs.
    pub bytes: u64,
}

impl Recording {
    /// Is there one in this folder?
    pub fn is_in(folder: &Path) -> bool {
        folder.join(RANKS).is_dir()
    }

    /// Runs the program and keeps the logs of its ranks in the folder, in place of an earlier run's.
    pub fn make(start: Start<'_>, folder: &Path, unpacked: &Unpacked) -> Result<Recording> {
        let ranks = folder.join(RANKS);
        if ranks.is_dir() {
            fs::remove_dir_all(&ranks).map_err(Error::output("empty", &ranks))?;
        }
        fs::create_dir_all(&ranks).map_err(Error::output("create", &ranks))?;
        let ranks = ranks.canonicalize().map_err(Error::output("open", folder))?;
        let mut program = program(start.command, start.cwd, unpacked, start.limit.unwrap_or(FOREVER));
        program.max_log = start.max_log;
        program.online = start.online;
        program.look = start.look.clone();
        let began = Instant::now();
        let ended = program.run(&ranks, None, Output::Ours).map_err(|source| cannot_run(start.command, source))?;
        let about = About {
            command: start.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            cwd: start.cwd.to_owned(),
            status: ended.status,
            timed_out: ended.timed_out,
            seconds: began.elapsed().as_secs_f64(),
        };
        let path = ranks.join(FILE);
        let text = serde_json::to_string_pretty(&about).unwrap_or_default() + "\n";
        fs::write(&path, text).map_err(Error::output("write", &path))?;
        Self::open(folder)
    }

    /// The recording in a folder of `record` or `test`.
    pub fn open(folder: &Path) -> Result<Recording> {
        let ranks = folder.join(RANKS);
        let path = ranks.join(FILE);
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let about: About = serde_json::from_str(&text)
            .map_err(|error| Error::NotReplayable { path: path.clone(), why: format!("it cannot be read: {error}") })?;
        let logs = logfile::read_all(&ranks).map_err(Error::io("read", &ranks))?;
        let notes = logfile::read_notes(&ranks, logs.len());
        let found = logfile::read_found(&ranks, logs.len());
        let bytes = logfile::size(&ranks, logs.len());
        let About { command, cwd, status, timed_out, seconds } = about;
        Ok(Recording {
            logs,
            notes,
            found,
            ended: Ended { status, timed_out, output: Vec::new() },
            command: command.into_iter().map(OsString::from).collect(),
            cwd,
            took: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
            bytes,
        })
    }

    /// Entries of all logs.
    pub fn entries(&self) -> usize {
        self.logs.iter().map(Vec::len).sum()
    }
}

/// A run that nobody limits.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

pub(super) fn program(command: &[OsString], cwd: &Path, unpacked: &Unpacked, limit: Duration) -> Program {
    Program {
        command: command.to_vec(),
        cwd: cwd.to_owned(),
        runtime: unpacked.path(),
        limit,
        max_log: None,
        online: false,
        look: Look::default(),
        ends_when_stuck: limit < FOREVER,
        interrupted: interrupt::asked,
    }
}

pub(super) fn cannot_run(command: &[OsString], source: std::io::Error) -> Error {
    let program = command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Error::CannotRun { program, source }
}
