//! Logs of ranks on disk: what the runtime leaves, and what `predict` reads.

use std::path::Path;

use crate::event::{Logged, Logs};
use crate::ids::Rank;
use crate::owner::Found;
use crate::phases::Counts;
use crate::wire::decode;

pub const MAGIC: &[u8; 8] = b"rwspmd02";
/// Bytes before the first entry.
pub const HEADER: usize = 24;

/// The file of a rank's log in a session's folder.
pub fn name(rank: u32) -> String {
    format!("rank.{rank}.log")
}

/// The file of what a rank says beside its log.
pub fn notes_name(rank: u32) -> String {
    format!("rank.{rank}.notes")
}

/// The file of a rank that waits for a debugger: its process.
pub fn stopped_name(rank: u32) -> String {
    format!("rank.{rank}.stopped")
}

/// The file of what a rank found while the program ran.
pub fn found_name(rank: u32) -> String {
    format!("rank.{rank}.found")
}

/// What the ranks found while the program ran.
pub fn read_found(folder: &Path, ranks: usize) -> Vec<Found> {
    let of = |rank: usize| std::fs::read(folder.join(found_name(rank as u32))).unwrap_or_default();
    (0..ranks).flat_map(|rank| decode::<Found>(&of(rank))).collect()
}

/// The log of one rank: its number, how many there are, the entries.
pub fn read(path: &Path) -> std::io::Result<(u32, u32, Vec<Logged>)> {
    let bytes = std::fs::read(path)?;
    let damaged = || std::io::Error::other(format!("{} is not the log of a rank", path.display()));
    let word = |at: usize| bytes.get(at..at + 4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    if bytes.get(..8) != Some(MAGIC) {
        return Err(damaged());
    }
    let (Some(low), Some(high), Some(rank), Some(ranks)) = (word(8), word(12), word(16), word(20)) else {
        return Err(damaged());
    };
    let whole = (u64::from(high) << 32 | u64::from(low)) as usize;
    let entries = bytes.get(HEADER..HEADER + whole).ok_or_else(damaged)?;
    Ok((rank, ranks, decode(entries)))
}

/// The logs of all ranks in a folder. A rank that left none has an empty one.
pub fn read_all(folder: &Path) -> std::io::Result<Logs> {
    let mut logs = Logs::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let log = path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with("rank.") && name.ends_with(".log")
        });
        if log {
            let (rank, ranks, entries) = read(&path)?;
            let needed = ranks.max(rank + 1) as usize;
            if logs.len() < needed {
                logs.resize(needed, Vec::new());
            }
            logs[rank as usize] = entries;
        }
    }
    Ok(logs)
}

/// Bytes of the logs of that many ranks, as far as they are written.
pub fn size(folder: &Path, ranks: usize) -> u64 {
    let written = |rank: usize| {
        use std::io::Read as _;
        let mut header = [0u8; 16];
        let mut file = std::fs::File::open(folder.join(name(rank as u32))).ok()?;
        file.read_exact(&mut header).ok()?;
        let (_, whole) = header.split_at(8);
        Some(HEADER as u64 + u64::from_le_bytes(whole.try_into().ok()?))
    };
    (0..ranks).filter_map(written).sum()
}

/// A file of code that some statement lies in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// The upper 16 bits of its sites.
    pub number: u64,
    /// What was added to the addresses of the file.
    pub bias: u64,
    pub path: String,
}

/// What ranks say beside their logs.
#[derive(Clone, Default, Debug)]
pub struct Notes {
    /// Of all ranks, each once.
    pub modules: Vec<Module>,
    /// Ranks whose loads and stores were seen.
    pub instrumented: usize,
    /// Ranks that came to their end.
    pub finished: Vec<Rank>,
    /// Entries that did not fit.
    pub dropped: u64,
    /// Calls that were not understood.
    pub not_understood: std::collections::BTreeSet<String>,
    /// Ranks that judged while the program ran.
    pub online: usize,
    /// Those that came to the end of it: each with what it counted, and the pairs that it gave up.
    pub judged: Vec<(Counts, u64)>,
}

/// The notes of that many ranks.
pub fn read_notes(folder: &Path, ranks: usize) -> Notes {
    let mut notes = Notes::default();
    for rank in 0..ranks {
        let text = std::fs::read_to_string(folder.join(notes_name(rank as u32))).unwrap_or_default();
        for line in text.lines() {
            notes.take(Rank(rank as u32), line);
        }
    }
    notes
}

impl Notes {
    fn take(&mut self, rank: Rank, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "module" => {
                let parts: Vec<&str> = rest.splitn(3, ' ').collect();
                let number = |at: usize| parts.get(at).and_then(|part| u64::from_str_radix(part, 16).ok());
                if let (Some(number), Some(bias), Some(path)) = (number(0), number(1), parts.get(2))
                    && self.modules.iter().all(|module| module.number != number)
                {
                    self.modules.push(Module { number, bias, path: (*path).to_owned() });
                }
            }
            "judged" => {
                let numbers: Vec<u64> = rest.split(' ').filter_map(|number| number.parse().ok()).collect();
                if let [phases, ordered, accesses, dropped, bytes_sent, given_up] = numbers[..] {
                    self.judged.push((Counts { phases, ordered, accesses, dropped, bytes_sent }, given_up));
                }
            }
            "online" => self.online += 1,
            "instrumented" => self.instrumented += 1,
            "finished" => {
                self.finished.push(rank);
                self.dropped += rest.parse().unwrap_or(0);
            }
            _ => {
                if let Some(name) = line.strip_prefix("not understood ") {
                    self.not_understood.insert(name.to_owned());
                }
            }
        }
    }
}
