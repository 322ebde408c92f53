//! Names beside a trace, and folders that only we can enter.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// A folder only we can enter, removed with everything in it. One whose owner was killed is removed when the next one is
/// made: the owner keeps it locked as long as it lives.
pub struct PrivateFolder {
    path: PathBuf,
    // invariant: open, and locked unless the system cannot
    _lock: fs::File,
}

/// Begins the names of such folders.
const PREFIX: &str = "reweave.";
/// One that is younger may not have been locked yet.
const YOUNGEST: Duration = Duration::from_secs(60);

/// Whether nobody else has it locked; we have then.
fn lock(folder: &fs::File) -> bool {
    // SAFETY: a descriptor that is open.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes what processes that were killed have left.
fn clean_up(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_ours = number.is_some_and(|text| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if !is_ours {
            continue;
        }
        let Ok(about) = entry.metadata() else { continue };
        // SAFETY: asks for a number.
        let own = about.is_dir() && about.uid() == unsafe { libc::geteuid() };
        let old = about.modified().is_ok_and(|then| then.elapsed().is_ok_and(|age| age > YOUNGEST));
        if own
            && old
            && let Ok(folder) = fs::File::open(entry.path())
            && lock(&folder)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl PrivateFolder {
    pub fn new() -> Result<Self> {
        static CLEANED: Once = Once::new();
        let base = std::env::temp_dir();
        CLEANED.call_once(|| clean_up(&base));
        let mut last = io::Error::other("no free name");
        for attempt in 0..100u32 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // Always of the same length: the name is part of the program's environment, which shifts its stack.
            let tag =
                (now.subsec_nanos() ^ attempt.wrapping_mul(0x9e37_79b9)) as u64 ^ u64::from(std::process::id()) << 8;
            let path = base.join(format!("{PREFIX}{:08x}", tag as u32));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let folder = fs::File::open(&path).map_err(Error::output("open", &path))?;
                    lock(&folder);
                    return Ok(Self { path, _lock: folder });
                }
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
        &self.path
    }
}

fn copy_into(from: &Path, to: &Path, left: &mut u64) -> Result<()> {
    if from.join(RECORDING).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(from).map_err(Error::io("read", from))?.flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && path.parent() == Some(&std::env::temp_dir())
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
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_killed_have_left_is_removed() {
        let base = std::env::temp_dir().join(format!("reweave-left-{}", std::process::id()));
        let old = SystemTime::now() - 2 * YOUNGEST;
        let make = |name: &str, then: SystemTime| {
            fs::create_dir_all(base.join(name).join("inside")).expect("a folder");
            fs::File::open(base.join(name)).and_then(|folder| folder.set_modified(then)).expect("its time");
            base.join(name)
        };
        let left = make("reweave.0123abcd", old);
        let young = make("reweave.0123abce", SystemTime::now());
        let in_use = make("reweave.0123abcf", old);
        let others = [make("reweave.data", old), make("0123abcd", old)];
        let owner = fs::File::open(&in_use).expect("a folder");
        assert!(lock(&owner), "nobody else has it");
        clean_up(&base);
        let is_there = |path: &PathBuf| path.exists();
        let seen = (is_there(&left), is_there(&young), is_there(&in_use), others.iter().all(is_there));
        fs::remove_dir_all(&base).expect("just made");
        assert_eq!(seen, (false, true, true, true));
    }
}
