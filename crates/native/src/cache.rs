//! The user's cache: where the embedded files are unpacked for compilers and loaders to find.
//!
//! Guarantee: every path handed out names a file that belongs to this user, that no other user
//! can write, in a folder of which the same is true, and whose bytes are the embedded ones.
//! Whoever could change these files would run code in every program under test.
//!
//! Files are written beside their place and renamed into it, so any number of processes may
//! unpack at once and a damaged file is repaired by the next call.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::embedded::{CONTENT_HASH, GCC_SPECS, HEADER, RUNTIME, STUBS};

/// Where the unpacked files are.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The cache's root folder, shared by all versions of `reweave`.
    pub root: PathBuf,
    /// The archive of hooks to link.
    pub stubs: PathBuf,
    /// The runtime library to preload.
    pub runtime: PathBuf,
    /// The folder that holds `reweave.h`.
    pub include: PathBuf,
    /// The specs file for gcc.
    pub gcc_specs: PathBuf,
}

/// Why the cache cannot be used. The text says what, where, and the next step.
#[derive(Debug)]
pub struct Error {
    /// Each folder that was tried, and what was wrong with it.
    // invariant: not empty
    attempts: Vec<(PathBuf, Problem)>,
}

#[derive(Debug)]
enum Problem {
    Io(&'static str, PathBuf, io::Error),
    NotOurs(PathBuf, u32),
    Writable(PathBuf, u32),
    WrongKind(PathBuf, &'static str),
    Relative,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Io(action, path, error) => {
                write!(f, "cannot {action} {}: {error}", path.display())
            }
            Problem::NotOurs(path, owner) => {
                write!(f, "{} belongs to another user (uid {owner})", path.display())
            }
            Problem::Writable(path, mode) => write!(
                f,
                "{} can be written by other users (mode {:o}): run `chmod go-w` on it",
                path.display(),
                mode & 0o7777
            ),
            Problem::WrongKind(path, expected) => {
                write!(f, "{} is not {expected}", path.display())
            }
            Problem::Relative => write!(f, "not an absolute path"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no usable cache folder")?;
        for (root, problem) in &self.attempts {
            write!(f, "\n  {}: {problem}", root.display())?;
        }
        write!(f, "\nset REWEAVE_CACHE to a folder that only you can write")
    }
}

impl std::error::Error for Error {}

/// Unpacks the embedded files, or checks that they are already there.
pub fn unpack() -> Result<Installed, Error> {
    let installed = unpack_for_compiling()?;
    match own_file(&installed.runtime, RUNTIME) {
        Ok(()) => Ok(installed),
        Err(problem) => Err(Error { attempts: vec![(installed.root, problem)] }),
    }
}

/// As [`unpack`], but leaves out the runtime library. Comparing its megabytes would double the
/// wrapper's own time, which every file of a build pays.
pub(crate) fn unpack_for_compiling() -> Result<Installed, Error> {
    let mut attempts = Vec::new();
    for root in candidates(|name| std::env::var_os(name)) {
        match unpack_into(&root) {
            Ok(installed) => return Ok(installed),
            Err(problem) => attempts.push((root, problem)),
        }
    }
    Err(Error { attempts })
}

/// The folders to try, best first. One that the user has named is the only one: falling back
/// would hide that it is unsafe.
fn candidates(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = path("REWEAVE_CACHE") {
        return vec![named];
    }
    let xdg = path("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    // A home that is not there (build services set such ones) is not ours to create.
    let home = path("HOME").filter(|path| path.is_absolute() && path.is_dir());
    let mut found = Vec::new();
    found.extend(xdg.map(|folder| folder.join("reweave")));
    found.extend(home.map(|folder| folder.join(".cache/reweave")));
    found.push(PathBuf::from(format!("/tmp/reweave-{}", user())));
    found
}

fn user() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

fn unpack_into(root: &Path) -> Result<Installed, Problem> {
    if !root.is_absolute() {
        return Err(Problem::Relative);
    }
    own_folder(root)?;
    let folder = root.join(CONTENT_HASH);
    own_folder(&folder)?;
    let include = folder.join("include");
    own_folder(&include)?;

    let installed = Installed {
        root: root.to_path_buf(),
        stubs: folder.join("libreweave_stubs.a"),
        runtime: folder.join("libreweave_runtime.so"),
        gcc_specs: folder.join("gcc.specs"),
        include,
    };
    own_file(&installed.stubs, STUBS)?;
    own_file(&installed.gcc_specs, GCC_SPECS)?;
    own_file(&installed.include.join("reweave.h"), HEADER)?;
    Ok(installed)
}

/// Makes sure that `path` is a folder of ours; creates it (and its parents) if it is missing.
pub(crate) fn ensure_folder(path: &Path) -> io::Result<()> {
    own_folder(path).map_err(|problem| io::Error::other(problem.to_string()))
}

fn own_folder(path: &Path) -> Result<(), Problem> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        // Something else is there: the check below says what.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Problem::Io("create", path.to_path_buf(), error)),
    }
    // The root may be a link that the user has made to a larger disk; what counts is the folder
    // behind it and who owns the link.
    let link = fs::symlink_metadata(path).map_err(|error| Problem::Io("examine", path.to_path_buf(), error))?;
    check_owner(path, &link)?;
    let metadata = fs::metadata(path).map_err(|error| Problem::Io("examine", path.to_path_buf(), error))?;
    if !metadata.is_dir() {
        return Err(Problem::WrongKind(path.to_path_buf(), "a folder"));
    }
    check_owner(path, &metadata)?;
    check_writers(path, &metadata)
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), Problem> {
    if metadata.uid() == user() { Ok(()) } else { Err(Problem::NotOurs(path.to_path_buf(), metadata.uid())) }
}

fn check_writers(path: &Path, metadata: &Metadata) -> Result<(), Problem> {
    if metadata.mode() & 0o022 == 0 { Ok(()) } else { Err(Problem::Writable(path.to_path_buf(), metadata.mode())) }
}

/// Makes sure that `path` is a file of ours that holds `content`.
fn own_file(path: &Path, content: &[u8]) -> Result<(), Problem> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => {
            if !metadata.is_file() {
                return Err(Problem::WrongKind(path.to_path_buf(), "a regular file"));
            }
            check_owner(path, &metadata)?;
            check_writers(path, &metadata)?;
            // Comparing with the embedded bytes is as cheap as hashing and cannot be fooled.
            if metadata.len() == content.len() as u64 && fs::read(path).is_ok_and(|found| found == content) {
                return Ok(());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Problem::Io("examine", path.to_path_buf(), error)),
    }
    replace_file(path, content).map_err(|error| Problem::Io("write", path.to_path_buf(), error))
}

/// Puts a file in place in one step; a reader sees the old one or the new one, whole.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".new-");
    name.push(format!("{}-{serial}-", std::process::id()));
    name.push(path.file_name().unwrap_or_default());
    let temporary = path.with_file_name(name);
    // A leftover of a killed process that had our id.
    let _ = fs::remove_file(&temporary);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o700)
        .open(&temporary)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("reweave-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn a_named_folder_is_the_only_candidate() {
        let named = candidates(|name| Some(OsString::from(format!("/{name}"))));
        assert_eq!(named, [PathBuf::from("/REWEAVE_CACHE")]);
    }

    #[test]
    fn without_a_home_the_temporary_folder_is_left() {
        let found = candidates(|name| (name == "HOME").then(|| OsString::from("relative")));
        assert_eq!(found, [PathBuf::from(format!("/tmp/reweave-{}", user()))]);
    }

    #[test]
    fn unpacks_privately_and_repairs_damage() {
        let root = scratch("repair");
        let installed = unpack_into(&root).unwrap();
        assert_eq!(fs::metadata(&root).unwrap().mode() & 0o777, 0o700);
        fs::write(&installed.stubs, b"damaged").unwrap();
        unpack_into(&root).unwrap();
        assert_eq!(fs::read(&installed.stubs).unwrap(), STUBS);
        let left: Vec<_> = fs::read_dir(installed.stubs.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name.to_string_lossy().starts_with(".new-"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn refuses_what_others_can_write() {
        let root = scratch("writable");
        let installed = unpack_into(&root).unwrap();
        fs::set_permissions(&installed.stubs, fs::Permissions::from_mode(0o720)).unwrap();
        let problem = unpack_into(&root).unwrap_err();
        assert!(matches!(problem, Problem::Writable(..)), "{problem}");
        fs::set_permissions(&installed.stubs, fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
        let problem = unpack_into(&root).unwrap_err();
        assert!(matches!(problem, Problem::Writable(..)), "{problem}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn refuses_a_link_in_place_of_a_file() {
        let root = scratch("link");
        let installed = unpack_into(&root).unwrap();
        fs::rename(&installed.stubs, root.join("moved")).unwrap();
        symlink(root.join("moved"), &installed.stubs).unwrap();
        let problem = unpack_into(&root).unwrap_err();
        assert!(matches!(problem, Problem::WrongKind(..)), "{problem}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn many_unpack_at_once() {
        let root = scratch("many");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| unpack_into(&root).unwrap());
            }
        });
        fs::remove_dir_all(root).unwrap();
    }
}
