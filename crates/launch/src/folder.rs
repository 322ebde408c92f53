//! Names beside a trace, and folders that only we can enter.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Error, Result};

/// The recorded run in the folder of a test.
pub const RECORDING: &str = "recording.rwt";

/// Bytes that are copied to isolate a run.
const LARGEST: u64 = 256 << 20;

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

    /// A copy of a folder and all that is in it, findings of earlier tests apart.
    pub fn copy_of(folder: &Path) -> Result<Self> {
        let copy = Self::new()?;
        let mut left = LARGEST;
        copy_into(folder, copy.path(), &mut left)?;
        Ok(copy)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

fn copy_into(from: &Path, to: &Path, left: &mut u64) -> Result<()> {
    if from.join(RECORDING).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(from).map_err(Error::io("read", from))?.flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        if entry.file_name().as_encoded_bytes().starts_with(b"reweave-") && path.parent() == Some(&std::env::temp_dir())
        {
            // Ours, perhaps this very copy.
            continue;
        }
        if about.is_dir() {
            fs::create_dir(&copy).map_err(Error::output("create", &copy))?;
            copy_into(&path, &copy, left)?;
        } else if about.is_symlink() {
            let target = fs::read_link(&path).map_err(Error::io("read", &path))?;
            std::os::unix::fs::symlink(target, &copy).map_err(Error::output("create", &copy))?;
        } else if about.is_file() {
            *left = left.checked_sub(about.len()).ok_or_else(|| Error::TooMuchToCopy { folder: from.to_owned() })?;
            match fs::copy(&path, &copy) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => drop(done.map_err(Error::output("write", &copy))?),
            }
        }
    }
    Ok(())
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
