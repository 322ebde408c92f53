//! The real compiler behind the wrapper: which one, and of which family.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Language, response};

/// A compiler's command line as the user configured it: program first, then leading arguments
/// (`ccache gcc`).
#[derive(Debug)]
pub struct Program {
    // invariant: not empty
    words: Vec<OsString>,
}

impl Program {
    pub fn command(&self, args: impl IntoIterator<Item = OsString>) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(args);
        command
    }
}

/// What decides on flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Gcc,
    Clang,
    /// Generates code for a machine that we have no hooks for.
    Foreign,
}

/// The compiler for `language`: `REWEAVE_CC` or `REWEAVE_CXX`, else the usual names in `PATH`.
pub fn find(language: Language) -> Result<Program, String> {
    let (variable, names) = match language {
        Language::C => ("REWEAVE_CC", ["gcc", "cc", "clang"]),
        Language::Cxx => ("REWEAVE_CXX", ["g++", "c++", "clang++"]),
        Language::Fortran => ("REWEAVE_FC", ["gfortran", "f95", "f77"]),
    };
    let words = match env::var_os(variable).filter(|value| !value.is_empty()) {
        // A path with spaces in it is one word.
        Some(value) if Path::new(&value).is_file() => vec![value],
        Some(value) => response::split(value.as_bytes()),
        None => names
            .iter()
            .find_map(|name| in_path(OsStr::new(name)).filter(|path| !is_this_program(path)))
            .map(|path| vec![path.into_os_string()])
            .ok_or_else(|| {
                let names = names.join(", ");
                format!("no compiler found ({names}): install one or set {variable}")
            })?,
    };
    let Some(first) = words.first() else {
        return Err(format!("{variable} is blank: name a compiler in it or unset it"));
    };
    let Some(path) = in_path(first) else {
        return Err(format!(
            "{variable} names {}, which is not there: install it or change {variable}",
            first.display()
        ));
    };
    if is_this_program(&path) {
        return Err(format!("{variable} names reweave itself: set it to the compiler that reweave should call"));
    }
    Ok(Program { words })
}

/// The file that a shell would run for `name`.
fn in_path(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0))
}

/// A link named `gcc` to the wrapper would call itself for ever.
fn is_this_program(path: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let us = env::current_exe().ok().and_then(|path| identity(&path));
    us.is_some() && us == identity(path)
}

/// Asks the compiler for its predefined macros; the answer is kept in the cache until the
/// compiler's file changes. Asking costs as much as compiling a small file.
pub fn identify(program: &Program, cache_root: &Path) -> Result<Family, String> {
    let note = cache_root.join("compilers").join(fingerprint(program));
    if let Ok(known) = fs::read_to_string(&note)
        && let Some(family) = from_macros(&known)
    {
        return Ok(family);
    }
    let answer = ask(program)?;
    let family = from_macros(&answer).ok_or_else(|| {
        format!(
            "{} is neither gcc nor clang: set REWEAVE_CC and REWEAVE_CXX to one of them (REWEAVE_FC to gfortran)",
            program.words[0].display()
        )
    })?;
    // Only a saving: a cache that cannot be written costs time, nothing else.
    if let Some(folder) = note.parent()
        && reweave_launch::cache::ensure_folder(folder).is_ok()
    {
        let _ = reweave_launch::cache::replace_file(&note, answer.trim().as_bytes());
    }
    Ok(family)
}

/// Changes when a word of the command, or the file behind it, does.
fn fingerprint(program: &Program) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut mix = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for word in &program.words {
        mix(word.as_bytes());
        if let Some(path) = in_path(word)
            && let Ok(found) = fs::metadata(&path)
        {
            mix(path.as_os_str().as_bytes());
            for number in [found.ino(), found.size(), found.mtime() as u64, found.mtime_nsec() as u64] {
                mix(&number.to_le_bytes());
            }
        }
    }
    format!("{hash:016x}")
}

/// Macros that a compiler leaves alone if it does not define them.
const QUESTION: &[u8] = b"reweave __clang__ __GNUC__ __x86_64__ __ILP32__ __linux__\n";

fn ask(program: &Program) -> Result<String, String> {
    let name = program.words[0].display();
    let failed =
        |error: std::io::Error| format!("cannot run {name} ({error}): install it or set REWEAVE_CC and REWEAVE_CXX");
    let mut child = program
        .command(["-E", "-P", "-x", "c", "-"].map(OsString::from))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // A compiler that does not read ends with an answer that we cannot use either.
        let _ = input.write_all(QUESTION);
    }
    let output = child.wait_with_output().map_err(failed)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn from_macros(answer: &str) -> Option<Family> {
    let line = answer.lines().find(|line| line.starts_with("reweave "))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[_, clang, gnu, x86_64, narrow, linux] = words.as_slice() else {
        return None;
    };
    let native = x86_64 == "1" && narrow == "__ILP32__" && linux == "1";
    match (native, clang, gnu) {
        (false, ..) => Some(Family::Foreign),
        (true, "1", _) => Some(Family::Clang),
        (true, _, "__GNUC__") => None,
        (true, ..) => Some(Family::Gcc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_by_their_macros() {
        let gcc = "\nreweave __clang__ 12 1 __ILP32__ 1\n";
        assert_eq!(from_macros(gcc), Some(Family::Gcc));
        let clang = "reweave 1 4 1 __ILP32__ 1";
        assert_eq!(from_macros(clang), Some(Family::Clang));
        let arm = "reweave __clang__ 12 __x86_64__ __ILP32__ 1";
        assert_eq!(from_macros(arm), Some(Family::Foreign));
        let tcc = "reweave __clang__ __GNUC__ 1 __ILP32__ 1";
        assert_eq!(from_macros(tcc), None);
        assert_eq!(from_macros("error: no"), None);
    }
}
