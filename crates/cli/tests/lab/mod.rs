//! A folder of its own for each test, and ways to build and run programs in it.

#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses its own part of the helpers")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub struct Lab {
    folder: tempfile::TempDir,
}

/// What a command came to.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

impl Lab {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("the lab can be written");
        path
    }

    /// A command that starts in the lab, with nothing on its stdin.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).stdin(Stdio::null()).env_remove("LD_PRELOAD");
        command
    }

    pub fn reweave(&self, args: &[&str]) -> Said {
        self.command(reweave()).args(args).output().expect("reweave starts").into()
    }

    pub fn shell(&self, script: &str) -> Said {
        self.command("sh").args(["-c", script]).env("REWEAVE", reweave()).output().expect("sh starts").into()
    }

    /// Builds a program of the repository's `tests` folder with `reweave cc`.
    pub fn build(&self, source: &str, name: &str) {
        let source = tests().join(source);
        let said = self.reweave(&["cc", "-g", "-o", name, &source.display().to_string(), "-lpthread"]);
        assert_eq!(said.code, 0, "{said:?}");
    }

    pub fn build_text(&self, text: &str, name: &str) {
        let source = self.write(&format!("{name}.c"), text);
        let said = self.reweave(&["cc", "-g", "-o", name, &source.display().to_string(), "-lpthread"]);
        assert_eq!(said.code, 0, "{said:?}");
    }
}

pub fn reweave() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_reweave"))
}

pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}
