//! What the tests of the command share: scratch folders, running things with a time limit, golden programs.

#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses its own part of the helpers")]

pub mod console;
pub mod golden;
pub mod run;
pub mod traces;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use reweave_launch::FrontEnds;
use reweave_native::Native;

pub use run::{Done, run};

/// The command under test.
pub const REWEAVE: &str = env!("CARGO_BIN_EXE_reweave");

/// For tests that run programs by themselves: those of the tests are all native.
pub const FRONT_ENDS: FrontEnds = FrontEnds::new(&[&Native]);

/// The top folder of the repository.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).expect("crates/cli is two levels down").to_owned()
}

/// Says, past the test harness, which would swallow it, that a test has nothing to do here.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// Whether a program is in PATH.
pub fn has(tool: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(tool).is_file())
}

pub fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// A folder of one test, removed at its end unless the test failed.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub fn new(name: &str) -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("reweave-{name}-{}-{serial}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self { path: path.canonicalize().expect("just made") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path.join(name);
        fs::write(&path, content).expect("a file in the scratch folder");
        path
    }

    /// A shell script that can be executed.
    pub fn script(&self, name: &str, content: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
        path
    }

    /// Any command, in this folder.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.path).env("LC_ALL", "C").env_remove("REWEAVE_CC").env_remove("REWEAVE_CXX");
        command
    }

    /// `reweave` with these words, in this folder.
    pub fn reweave<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(REWEAVE);
        command.args(words);
        command
    }

    /// Runs `reweave` with these words.
    pub fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Done {
        run(&mut self.reweave(words))
    }

    /// Builds a program of `tests/` with `reweave cc` or `c++` under the name of its source, and returns where it is.
    pub fn build(&self, source: &str) -> PathBuf {
        let program = golden::Program::read(&root().join("tests").join(source));
        program.build(self, golden::GCC, "-O1").unwrap_or_else(|why| panic!("{why}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
