//! A run as a set of traces, one for each process, with a manifest that says which process is what.
//!
//! The manifest of `run.rwt` is `run.rwt.run`: JSON, written when the run is over. A run of one process has none. Runs
//! that were recorded before there were manifests are known by the names of their files alone: `run.rwt`, `run.rwt.2`,
//! `run.rwt.3` …

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What the name of a manifest ends with.
const SUFFIX: &str = "run";

/// Grows when a reader has to know about a change.
const VERSION: u32 = 1;

/// One process of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessTrace {
    /// Its trace, in the folder of the manifest.
    pub file: String,
    /// What it ran; empty if only the name of the file is known.
    pub executable: String,
    pub pid: u32,
    pub parent: u32,
    /// It began as a copy of its parent.
    pub forked: bool,
    /// Its number among processes that were started together to do the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunSet {
    /// The trace that the run is named by.
    root: PathBuf,
    // invariant: not empty, in the order in which the processes began
    processes: Vec<ProcessTrace>,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    reweave_run: u32,
    processes: Vec<ProcessTrace>,
}

impl RunSet {
    /// A run named by the trace `root`, beside which the traces of its processes lie.
    pub fn new(root: &Path, processes: Vec<ProcessTrace>) -> Self {
        assert!(!processes.is_empty(), "a run has a process");
        Self { root: root.to_owned(), processes }
    }

    /// The run that a trace is from; `path` may also be a manifest. What cannot be read is a run of its own.
    pub fn of(path: &Path) -> Self {
        if let Some(root) = root_of_manifest(path)
            && let Some(set) = Self::load(&root)
        {
            return set;
        }
        let root = root_of(path);
        let set = Self::load(&root).unwrap_or_else(|| Self::by_names(&root));
        if set.place_of(path).is_some() { set } else { Self::new(path, vec![named(path)]) }
    }

    /// Whether a file is a manifest, by its name and content.
    pub fn is_manifest(path: &Path) -> bool {
        root_of_manifest(path).is_some_and(|root| Self::load(&root).is_some())
    }

    fn load(root: &Path) -> Option<Self> {
        let text = fs::read_to_string(manifest_of(root)).ok()?;
        let Manifest { reweave_run, mut processes } = serde_json::from_str(&text).ok()?;
        // A name that leads elsewhere is none of ours, and traces may be removed one by one.
        let is_here = |process: &ProcessTrace| {
            Path::new(&process.file).file_name().is_some_and(|name| name == process.file.as_str())
                && root.with_file_name(&process.file).exists()
        };
        processes.retain(is_here);
        (reweave_run == VERSION && !processes.is_empty()).then(|| Self::new(root, processes))
    }

    fn by_names(root: &Path) -> Self {
        let numbered = (2..).map(|number| numbered(root, number)).take_while(|path| path.exists());
        let processes = std::iter::once(root.to_owned()).chain(numbered).map(|path| named(&path)).collect();
        Self::new(root, processes)
    }

    /// Writes the manifest. A run of one process needs none: an old one is removed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self) -> Result<()> {
        let path = manifest_of(&self.root);
        if self.processes.len() == 1 {
            let _ = fs::remove_file(path);
            return Ok(());
        }
        let manifest = Manifest { reweave_run: VERSION, processes: self.processes.clone() };
        let text = serde_json::to_string_pretty(&manifest).map_err(io::Error::other);
        text.and_then(|text| fs::write(&path, text + "\n")).map_err(Error::io(&path))
    }

    pub fn processes(&self) -> &[ProcessTrace] {
        &self.processes
    }

    /// The traces, in the order in which the processes began.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = PathBuf> + '_ {
        self.processes.iter().map(|process| self.root.with_file_name(&process.file))
    }

    /// Which of the processes a trace is of.
    pub fn place_of(&self, trace: &Path) -> Option<usize> {
        self.paths().position(|path| path == trace)
    }

    /// Puts all traces and the manifest under another name, each by `put` (from, to): `fs::rename`, say. Returns the
    /// new set.
    ///
    /// # Errors
    /// If one cannot be put there.
    pub fn put_at(&self, root: &Path, mut put: impl FnMut(&Path, &Path) -> io::Result<()>) -> Result<Self> {
        let mut processes = self.processes.clone();
        let (old, new) = (file_name(&self.root), file_name(root));
        for (process, from) in processes.iter_mut().zip(self.paths()) {
            // `trace.rwt.3` for `run.rwt.3`, also where there is no second one.
            if let Some(number) = process.file.strip_prefix(&old) {
                process.file = format!("{new}{number}");
            }
            let to = root.with_file_name(&process.file);
            put(&from, &to).map_err(Error::io(&to))?;
        }
        let set = Self::new(root, processes);
        set.save()?;
        Ok(set)
    }

    /// Removes all traces and the manifest, as far as they are there.
    pub fn remove(&self) {
        self.paths().for_each(|path| drop(fs::remove_file(path)));
        let _ = fs::remove_file(manifest_of(&self.root));
    }
}

/// `TRACE.run`
pub fn manifest_of(root: &Path) -> PathBuf {
    with_suffix(root, SUFFIX)
}

/// Where the trace of the process with this number lies, from 2 on: `TRACE.2`.
pub fn numbered(root: &Path, number: u32) -> PathBuf {
    with_suffix(root, &number.to_string())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

fn root_of_manifest(path: &Path) -> Option<PathBuf> {
    path.extension().is_some_and(|extension| extension == SUFFIX).then(|| path.with_extension(""))
}

/// `run.rwt` for `run.rwt.3`.
fn root_of(path: &Path) -> PathBuf {
    let is_number = |extension: &str| extension.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = path.extension().and_then(|extension| extension.to_str()).is_some_and(is_number);
    let stem = path.with_extension("");
    if numbered && stem.exists() { stem } else { path.to_owned() }
}

fn named(path: &Path) -> ProcessTrace {
    ProcessTrace { file: file_name(path), ..ProcessTrace::default() }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| fs::write(folder.path().join(name), "trace").unwrap());
        folder
    }

    fn names(set: &RunSet) -> Vec<&str> {
        set.processes().iter().map(|process| process.file.as_str()).collect()
    }

    #[test]
    fn older_runs_are_known_by_the_names_of_their_files() {
        let folder = folder(&["run.rwt", "run.rwt.2", "run.rwt.3", "run.rwt.5", "run.rwt.stdin", "other.rwt"]);
        let of = |name: &str| RunSet::of(&folder.path().join(name));
        let all = ["run.rwt", "run.rwt.2", "run.rwt.3"];
        assert_eq!(names(&of("run.rwt")), all);
        assert_eq!(names(&of("run.rwt.3")), all);
        assert_eq!(of("run.rwt.3").place_of(&folder.path().join("run.rwt.3")), Some(2));
        assert_eq!(names(&of("run.rwt.5")), ["run.rwt.5"], "not of this run");
        assert_eq!(names(&of("other.rwt")), ["other.rwt"]);
        assert_eq!(names(&of("missing.rwt")), ["missing.rwt"]);
    }

    #[test]
    fn a_manifest_says_which_process_is_what() {
        let folder = folder(&["run.rwt", "run.rwt.2", "run.rwt.3"]);
        let root = folder.path().join("run.rwt");
        let process = |file: &str, pid, parent, rank| ProcessTrace {
            file: file.into(),
            executable: "/bin/ranks".into(),
            pid,
            parent,
            forked: pid == 12,
            rank,
        };
        let first = process("run.rwt", 11, 1, None);
        let processes = vec![first, process("run.rwt.3", 12, 11, Some(0)), process("run.rwt.2", 13, 11, Some(1))];
        let set = RunSet::new(&root, processes);
        set.save().unwrap();
        assert_eq!(RunSet::of(&root), set);
        assert_eq!(RunSet::of(&folder.path().join("run.rwt.3")), set);
        let manifest = folder.path().join("run.rwt.run");
        assert!(RunSet::is_manifest(&manifest) && !RunSet::is_manifest(&root));
        assert_eq!(RunSet::of(&manifest), set);
        fs::remove_file(folder.path().join("run.rwt.3")).unwrap();
        assert_eq!(names(&RunSet::of(&root)), ["run.rwt", "run.rwt.2"], "what is gone is left out");

        let moved = folder.path().join("trace.rwt");
        let set = RunSet::of(&root).put_at(&moved, |from, to| fs::rename(from, to)).unwrap();
        assert_eq!(names(&set), ["trace.rwt", "trace.rwt.2"]);
        assert_eq!(RunSet::of(&moved), set);
        assert_eq!(set.processes()[1].rank, Some(1));
        set.remove();
        assert!(!moved.exists() && !folder.path().join("trace.rwt.run").exists());
    }

    #[test]
    fn a_run_of_one_process_has_no_manifest() {
        let folder = folder(&["run.rwt", "run.rwt.run"]);
        let root = folder.path().join("run.rwt");
        let set = RunSet::of(&root);
        assert_eq!(names(&set), ["run.rwt"], "what cannot be read is none");
        set.save().unwrap();
        assert!(!folder.path().join("run.rwt.run").exists());
    }

    #[test]
    fn names_that_lead_elsewhere_are_left_out() {
        let folder = folder(&["run.rwt"]);
        let root = folder.path().join("run.rwt");
        let text = r#"{"reweave_run": 1, "processes": [{"file": "run.rwt"}, {"file": "../run.rwt"}, {"file": ""}]}"#;
        fs::write(manifest_of(&root), text).unwrap();
        assert_eq!(names(&RunSet::of(&root)), ["run.rwt"]);
    }
}
