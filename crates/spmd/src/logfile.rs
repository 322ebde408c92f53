//! Logs of ranks on disk: what the runtime leaves, and what `predict` reads.

use std::path::Path;

use crate::event::{Logged, Logs};
use crate::wire::decode;

pub const MAGIC: &[u8; 8] = b"rwspmd01";
/// Bytes before the first entry.
pub const HEADER: usize = 24;

/// The file of a rank's log in a session's folder.
pub fn name(rank: u32) -> String {
    format!("rank.{rank}.log")
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
