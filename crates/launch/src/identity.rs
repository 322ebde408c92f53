//! Which build of a program a file is: what was recorded is said of that build and of no other.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use reweave_trace::{BUILD, Meta};

use crate::front_end::FrontEnds;
use crate::target::Program;

/// What two builds of a program are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rebuilt {
    pub recorded: String,
    pub now: String,
}

impl Rebuilt {
    /// Whether what runs now is another build than what was recorded. Where either is not known nothing is said.
    pub fn between(recorded: Option<String>, now: Option<String>) -> Option<Self> {
        let (recorded, now) = (recorded?, now?);
        (recorded != now).then_some(Self { recorded, now })
    }
}

impl std::fmt::Display for Rebuilt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the program was rebuilt since ({}; recorded: {})", short(&self.now), short(&self.recorded))
    }
}

/// `build id 1f3a90cc5d21…`: enough to tell two apart.
fn short(build: &str) -> String {
    const DIGITS: usize = 12;
    let (kind, number) = build.rsplit_once(' ').unwrap_or(("", build));
    match number.get(..DIGITS) {
        Some(first) if number.len() > DIGITS => format!("{kind} {first}…"),
        _ => build.to_owned(),
    }
}

/// What a trace says about the build that it is of.
pub fn of_trace(meta: &Meta) -> Option<String> {
    meta.other.get(BUILD).and_then(|build| build.as_str()).map(str::to_owned)
}

/// The build that would run now: of the program of a trace, or of another command in its place.
pub fn now(front_ends: FrontEnds, meta: &Meta, command: Option<&[OsString]>) -> Option<String> {
    if let Some(command) = command {
        let program = Program::find(front_ends, command, Path::new(&meta.cwd)).ok()?;
        return program.front_end.build(&program.path);
    }
    let path = Path::new(meta.other.get("executable")?.as_str()?);
    let (front_end, _) = front_ends.recognise(path).ok()??;
    front_end.build(path)
}

/// A number made of all the bytes of a file. A program is run many times: it is read again only when it was written.
pub fn of_content(path: &Path) -> Option<String> {
    type Version = (u64, i64, i64, u64);
    static KNOWN: Mutex<Option<HashMap<PathBuf, (Version, String)>>> = Mutex::new(None);
    let about = fs::metadata(path).ok()?;
    let version = (about.len(), about.mtime(), about.mtime_nsec(), about.ino());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some((_, text)) = known.get(path).filter(|(then, _)| *then == version) {
        return Some(text.clone());
    }
    // FNV-1a, over eight bytes at a time: this is about mistakes, not about attacks.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut file = File::open(path).ok()?;
    let mut block = vec![0u8; 1 << 16];
    loop {
        let size = file.read(&mut block).ok()?;
        if size == 0 {
            break;
        }
        for bytes in block[..size].chunks(8) {
            let mut word = [0u8; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x100_0000_01b3).rotate_left(23);
        }
    }
    let text = format!("content {:016x}", hash ^ about.len());
    known.insert(path.to_owned(), (version, text.clone()));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_written_again_is_another_build() {
        let path = std::env::temp_dir().join(format!("reweave-identity-{}", std::process::id()));
        let build = |text: &str| {
            fs::write(&path, text).expect("a file");
            of_content(&path)
        };
        let (one, other, again) = (build("x = 1\n"), build("x = 20\n"), build("x = 1\n"));
        fs::remove_file(&path).expect("just written");
        assert!(one.is_some() && one == again && one != other, "{one:?} {other:?} {again:?}");
        let rebuilt = Rebuilt::between(one, other).expect("they differ");
        assert!(rebuilt.to_string().starts_with("the program was rebuilt since (content "), "{rebuilt}");
        assert_eq!(Rebuilt::between(None, Some("build id 1".into())), None);
        assert_eq!(short("build id 0123456789abcdef"), "build id 0123456789ab…");
    }
}
