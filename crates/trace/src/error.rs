//! Everything that can go wrong with a trace. Each message says what, where, and what to do next.

use std::io;
use std::path::{Path, PathBuf};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(thiserror::Error, Debug)]
pub enum Error {
    #[error("{path}: {source}{}", next_step(.source))]
    Io { path: PathBuf, source: io::Error },

    #[error("{path}: not a reweave trace ({why}); record one with `reweave record -o FILE.rwt -- PROG`")]
    NotATrace { path: PathBuf, why: &'static str },

    #[error("trace format {found} is newer than this build ({known}): record again or upgrade")]
    TooNew { found: u32, known: u32 },

    /// What the target handed over is not a sequence of records. Everything before it has been written.
    #[error(
        "record {record} of a chunk handed over by the program is not valid ({why}): the rest of the chunk is lost"
    )]
    BadRecord { record: usize, why: reweave_model::wire::Malformed },

    #[error("a chunk of {len} bytes is over the limit of {limit}: hand over smaller chunks")]
    ChunkTooLarge { len: usize, limit: usize },

    #[error("writing the trace stopped after an earlier error: what came before it is readable")]
    Stopped,

    #[error("{path}:{line}: {what}")]
    Text { path: PathBuf, line: usize, what: String },

    #[error("{path}: {what}")]
    Unsupported { path: PathBuf, what: String },
}

/// For a file that is not there.
fn next_step(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => {
            ": check the name (`reweave record -o FILE.rwt -- PROG` makes a trace, `reweave test` one in its folder)"
        }
        _ => "",
    }
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// Whether the disk (or the quota, or the file-size limit) is what stopped the recording.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}
