//! Names beside a trace, and folders that only we can enter.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Error, Result};

/// `TRACE.suffix`
pub fn beside(trace: &Path, suffix: &str) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

/// A folder only we can enter, removed with everything in it.
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    pub fn new() -> Result<Self> {
        let base = std::env::temp_dir();
        let mut last = io::Error::other("no free name");
        for attempt in 0..100u32 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // Always of the same length: the name is part of the program's environment, which shifts its stack.
            let tag =
                (now.subsec_nanos() ^ attempt.wrapping_mul(0x9e37_79b9)) as u64 ^ u64::from(std::process::id()) << 8;
            let path = base.join(format!("reweave-{:08x}", tag as u32));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(Error::output("create", &path)(error)),
            }
        }
        Err(Error::output("create a folder in", &base)(last))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
