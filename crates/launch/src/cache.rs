//! The user's cache: where embedded files are unpacked for compilers and loaders to find.
//!
//! Guarantee: every path handed out names a file that belongs to this user, that no other user
//! can write, in a folder of which the same is true, and whose bytes are the embedded ones.
//! Whoever could change these files would run code in every program under test.
//!
//! Files are written beside their place and renamed into it, so any number of processes may
//! unpack at once and a damaged file is repaired by the next call.
//!
//! A file whose bytes were once compared is **sealed**: a note beside it says which file that was (device, inode, size
//! and when it was last changed, which no program can set back: `ctime`). As long as that is so nothing is read again,
//! which would be much of the time of a short run. The seal lies in the same private folder: whoever could forge it
//! could as well be the user.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// Why the cache cannot be used. The text says what, where, and the next step.
#[derive(Debug)]
pub struct Error {
    /// Each folder that was tried, and what was wrong with it.
    // invariant: not empty
    attempts: Vec<(PathBuf, Problem)>,
}

/// What is wrong with one folder.
#[derive(Debug)]
pub enum Problem {
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

/// Tries the folders that the cache may be in, best first, until `unpack` succeeds in one.
///
/// # Errors
/// If none can be used.
pub fn unpack<T>(unpack: impl Fn(&Path) -> Result<T, Problem>) -> Result<T, Error> {
    let mut attempts = Vec::new();
    for root in candidates(|name| std::env::var_os(name)) {
        let done =
            if root.is_absolute() { own_folder(&root).and_then(|()| unpack(&root)) } else { Err(Problem::Relative) };
        match done {
            Ok(done) => return Ok(done),
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

/// Makes sure that `path` is a folder of ours; creates it (and its parents) if it is missing.
pub fn ensure_folder(path: &Path) -> io::Result<()> {
    own_folder(path).map_err(|problem| io::Error::other(problem.to_string()))
}

/// Makes sure that `path` is a folder of ours that nobody else can write.
///
/// # Errors
/// If it is not, or cannot be made.
pub fn own_folder(path: &Path) -> Result<(), Problem> {
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
///
/// # Errors
/// If something else is there that is not ours to replace, or it cannot be written.
pub fn own_file(path: &Path, content: &[u8]) -> Result<(), Problem> {
    let examine = |error| Problem::Io("examine", path.to_path_buf(), error);
    match fs::symlink_metadata(path) {
        Ok(metadata) => {
            if !metadata.is_file() {
                return Err(Problem::WrongKind(path.to_path_buf(), "a regular file"));
            }
            check_owner(path, &metadata)?;
            check_writers(path, &metadata)?;
            if metadata.len() == content.len() as u64 {
                let stamp = stamp(&metadata);
                if seal_of(path).is_some_and(|sealed| sealed == stamp) {
                    return Ok(());
                }
                // Comparing with the embedded bytes is as cheap as hashing and cannot be fooled.
                if fs::read(path).is_ok_and(|found| found == content) {
                    seal(path, &metadata);
                    return Ok(());
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(examine(error)),
    }
    replace_file(path, content).map_err(|error| Problem::Io("write", path.to_path_buf(), error))
}

/// Which file it is, and when it was last changed.
fn stamp(file: &Metadata) -> String {
    let (changed, nanoseconds) = (file.ctime(), file.ctime_nsec());
    let modified = format!("{}.{:09}", file.mtime(), file.mtime_nsec());
    format!("{} {} {} {modified} {changed}.{nanoseconds:09}\n", file.dev(), file.ino(), file.len())
}

/// The clock of a file system moves by ticks: a change within the tick of the last one leaves no mark.
const TICK: Duration = Duration::from_secs(1);

/// Notes that the bytes of this file were compared, as it is now. Best effort: without a seal they are compared again.
fn seal(path: &Path, compared: &Metadata) {
    let changed = SystemTime::UNIX_EPOCH + Duration::new(compared.ctime().max(0) as u64, compared.ctime_nsec() as u32);
    let is_settled = SystemTime::now().duration_since(changed).is_ok_and(|age| age > TICK);
    // What was examined before the bytes were read is still what is there.
    let is_same = fs::symlink_metadata(path).is_ok_and(|now| stamp(&now) == stamp(compared));
    if is_settled && is_same {
        let _ = replace_file(&place_of_seal(path), stamp(compared).as_bytes());
    }
}

fn place_of_seal(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".seal");
    path.with_file_name(name)
}

/// What the seal of a file says, if it has one that is ours.
fn seal_of(path: &Path) -> Option<String> {
    let place = place_of_seal(path);
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&place).ok()?;
    let metadata = file.metadata().ok()?;
    check_owner(&place, &metadata).and_then(|()| check_writers(&place, &metadata)).ok()?;
    let mut text = String::new();
    Read::by_ref(&mut file).take(256).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Puts a file in place in one step; a reader sees the old one or the new one, whole.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
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

    const CONTENT: &[u8] = b"what is embedded";

    fn unpack_into(root: &Path) -> Result<PathBuf, Problem> {
        own_folder(root)?;
        let file = root.join("file");
        own_file(&file, CONTENT).map(|()| file)
    }

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
        let stubs = unpack_into(&root).unwrap();
        assert_eq!(fs::metadata(&root).unwrap().mode() & 0o777, 0o700);
        fs::write(&stubs, b"damaged").unwrap();
        unpack_into(&root).unwrap();
        assert_eq!(fs::read(&stubs).unwrap(), CONTENT);
        let left: Vec<_> = fs::read_dir(stubs.parent().unwrap())
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
        let stubs = unpack_into(&root).unwrap();
        fs::set_permissions(&stubs, fs::Permissions::from_mode(0o720)).unwrap();
        let problem = unpack_into(&root).unwrap_err();
        assert!(matches!(problem, Problem::Writable(..)), "{problem}");
        fs::set_permissions(&stubs, fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
        let problem = unpack_into(&root).unwrap_err();
        assert!(matches!(problem, Problem::Writable(..)), "{problem}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn refuses_a_link_in_place_of_a_file() {
        let root = scratch("link");
        let stubs = unpack_into(&root).unwrap();
        fs::rename(&stubs, root.join("moved")).unwrap();
        symlink(root.join("moved"), &stubs).unwrap();
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

    /// Makes the file look as if it had lain there for a while, and seals it.
    fn let_time_pass(path: &Path) {
        let wait = TICK + Duration::from_millis(50);
        std::thread::sleep(wait);
        own_file(path, CONTENT).unwrap();
        assert!(seal_of(path).is_some());
    }

    #[test]
    fn what_was_compared_once_is_not_read_again_until_it_changes() {
        let root = scratch("seal");
        let file = unpack_into(&root).unwrap();
        assert_eq!(seal_of(&file), None, "a change in the same tick would go unseen");
        let_time_pass(&file);
        let sealed = seal_of(&file).unwrap();
        // Of the same length: only the stamp tells.
        fs::write(&file, vec![b'x'; CONTENT.len()]).unwrap();
        unpack_into(&root).unwrap();
        assert_eq!(fs::read(&file).unwrap(), CONTENT);
        // An old time of modification does not hide a change: nobody can set the other one.
        let_time_pass(&file);
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, vec![b'y'; CONTENT.len()]).unwrap();
        let opened = OpenOptions::new().write(true).open(&file).unwrap();
        opened.set_modified(modified).unwrap();
        unpack_into(&root).unwrap();
        assert_eq!(fs::read(&file).unwrap(), CONTENT);
        assert_ne!(seal_of(&file), Some(sealed));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_seal_that_others_could_have_made_counts_for_nothing() {
        let root = scratch("forged");
        let file = unpack_into(&root).unwrap();
        let_time_pass(&file);
        let place = place_of_seal(&file);
        fs::set_permissions(&place, fs::Permissions::from_mode(0o722)).unwrap();
        assert_eq!(seal_of(&file), None);
        fs::rename(&place, root.join("moved")).unwrap();
        symlink(root.join("moved"), &place).unwrap();
        assert_eq!(seal_of(&file), None);
        fs::remove_dir_all(root).unwrap();
    }
}
