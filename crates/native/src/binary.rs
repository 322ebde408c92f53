//! What kind of file a program is: built with `reweave cc`, plain, static, a script.
//!
//! A hand-written look at the ELF header, the program headers and the notes. Section headers are
//! not used, so stripped files are recognised too. A damaged file is `NotExecutable`, never a
//! panic.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The bytes of a file, mapped: libraries are megabytes, and of most of them little is looked at.
#[cfg(feature = "front-end")]
pub(crate) struct Bytes(Option<memmap2::Mmap>);

#[cfg(feature = "front-end")]
impl Bytes {
    /// Of one that cannot be read there are none.
    pub fn of(path: &Path) -> Self {
        // SAFETY: whoever shortens a file while it is looked at ends us; linkers and installers make new ones. The
        // debug information in the same files is read the same way.
        Self(File::open(path).ok().and_then(|file| unsafe { memmap2::Mmap::map(&file) }.ok()))
    }
}

#[cfg(feature = "front-end")]
impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// How much of a program `reweave` can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instrumentation {
    /// Built with `reweave cc` and dynamically linked: accesses and synchronization.
    Instrumented,
    /// A dynamic program without instrumentation: synchronization only.
    Plain,
    /// Statically linked: nothing can be preloaded into it.
    Static,
    /// Run by an interpreter; its instrumented children can be seen.
    Script {
        /// The interpreter's path, as the first line gives it.
        interpreter: PathBuf,
    },
    /// A program for another kind of machine (32-bit included).
    Foreign,
    /// No permission, or not in a format that the kernel runs.
    NotExecutable,
}

const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;
const EM_X86_64: u16 = 62;
const ET_EXEC: u16 = 2;
const ET_DYN: u16 = 3;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_1_PIE: u64 = 0x0800_0000;

/// No note or dynamic section of a real program comes near this; it bounds what a damaged file
/// can make us read.
const LARGEST_SEGMENT: u64 = 1 << 20;

/// Looks at the file `path` (no search through `PATH`).
pub fn is_instrumented(path: &Path) -> io::Result<Instrumentation> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() || !may_execute(path) {
        return Ok(Instrumentation::NotExecutable);
    }
    let mut head = Vec::new();
    file.by_ref().take(256).read_to_end(&mut head)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        return Ok(script(line));
    }
    Ok(elf(&mut file, &head)?.unwrap_or(Instrumentation::NotExecutable))
}

fn may_execute(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}

fn script(line: &[u8]) -> Instrumentation {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let interpreter = line.split(|byte| *byte == b' ' || *byte == b'\t').find(|word| !word.is_empty());
    match interpreter {
        Some(word) => Instrumentation::Script { interpreter: PathBuf::from(std::ffi::OsStr::from_bytes(word)) },
        None => Instrumentation::NotExecutable,
    }
}

/// `None` if the file is not a complete ELF program.
fn elf(file: &mut File, head: &[u8]) -> io::Result<Option<Instrumentation>> {
    if !head.starts_with(b"\x7fELF") || head.len() < 64 {
        return Ok(None);
    }
    let (class, byte_order) = (head[4], head[5]);
    if class != 2 || byte_order != 1 || half(head, 18) != Some(EM_X86_64) {
        return Ok(Some(Instrumentation::Foreign));
    }
    let kind = half(head, 16);
    let (Some(start), Some(size), Some(count)) = (long(head, 32), half(head, 54), half(head, 56)) else {
        return Ok(None);
    };
    if size < 56 || !matches!(kind, Some(ET_EXEC | ET_DYN)) {
        return Ok(None);
    }
    let Some(table) = read(file, start, u64::from(size) * u64::from(count))? else {
        return Ok(None);
    };

    let mut interpreted = false;
    let mut marked = false;
    let mut position_independent_program = false;
    for entry in table.chunks_exact(usize::from(size)) {
        let segment = (word(entry, 0), long(entry, 8), long(entry, 32));
        let (Some(segment_kind), Some(offset), Some(length)) = segment else {
            return Ok(None);
        };
        match segment_kind {
            PT_INTERP => interpreted = true,
            PT_NOTE => {
                let notes = read(file, offset, length)?;
                marked |= notes.is_some_and(|notes| each_note(&notes).any(|note| note.name == b"reweave\0"));
            }
            PT_DYNAMIC => {
                let dynamic = read(file, offset, length)?.unwrap_or_default();
                position_independent_program |= dynamic.chunks_exact(16).any(|entry| {
                    long(entry, 0) == Some(DT_FLAGS_1) && long(entry, 8).is_some_and(|flags| flags & DF_1_PIE != 0)
                });
            }
            _ => {}
        }
    }
    Ok(match (interpreted, marked) {
        (true, true) => Some(Instrumentation::Instrumented),
        (true, false) => Some(Instrumentation::Plain),
        (false, _) if kind == Some(ET_EXEC) || position_independent_program => Some(Instrumentation::Static),
        // A shared library.
        (false, _) => None,
    })
}

struct Note<'a> {
    /// With the zero byte at its end.
    name: &'a [u8],
    kind: u32,
    content: &'a [u8],
}

/// Each is: name size, content size, type, name, content, the last two padded to four bytes.
fn each_note(mut notes: &[u8]) -> impl Iterator<Item = Note<'_>> {
    std::iter::from_fn(move || {
        let (name_size, content_size, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let padded = |size: u32| (size as usize).saturating_add(3) & !3;
        let name = notes.get(12..12usize.saturating_add(name_size as usize))?;
        let start = 12usize.saturating_add(padded(name_size));
        let content = notes.get(start..start.saturating_add(content_size as usize)).unwrap_or_default();
        notes = notes.get(start.saturating_add(padded(content_size))..).unwrap_or_default();
        Some(Note { name, kind, content })
    })
}

/// The number that the linker gives each build, in hexadecimal digits. `None`: it has none, or the file is no program.
pub fn build_id(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut head = Vec::new();
    file.by_ref().take(64).read_to_end(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF") || head.get(4) != Some(&2) {
        return None;
    }
    let (start, size, count) = (long(&head, 32)?, half(&head, 54)?, half(&head, 56)?);
    let table = read(&mut file, start, u64::from(size) * u64::from(count)).ok()??;
    for entry in table.chunks_exact(usize::from(size.max(56))).filter(|entry| word(entry, 0) == Some(PT_NOTE)) {
        let (offset, length) = (long(entry, 8)?, long(entry, 32)?);
        let notes = read(&mut file, offset, length).ok().flatten().unwrap_or_default();
        if let Some(note) = each_note(&notes).find(|note| note.name == b"GNU\0" && note.kind == NT_GNU_BUILD_ID) {
            return Some(note.content.iter().map(|byte| format!("{byte:02x}")).collect());
        }
    }
    None
}

/// The bytes at `offset`, or `None` if the file does not have them.
fn read(file: &mut File, offset: u64, length: u64) -> io::Result<Option<Vec<u8>>> {
    if length > LARGEST_SEGMENT || offset >= file.metadata()?.len() {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 == length).then_some(bytes))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
