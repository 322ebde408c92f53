//! The side of the `reweave` process: recognises programs that run as many ranks, and tests them.
//!
//! Ranks are not serialized and leave no traces: each writes a log of what its calls mean ([`crate::event`]). So such a
//! program has a pipeline of its own, from which the same report comes as from every other test.

mod again;
mod engine;
mod items;
mod lanes;
mod places;
mod recognise;
mod recording;
mod test;

use std::fs;
use std::path::PathBuf;

use reweave_launch::{Error, PrivateFolder, Result};

pub use crate::look::{Local, Look, Owners};
pub use again::{Again, Replayed};
pub use engine::Engine;
pub use lanes::lanes;
pub use recognise::is_spmd;
pub use recording::{Recording, Start};
pub use test::{Request, Stage, Tested, confirm_again, predict, record, test};

/// The library for ranks, made by the build script.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libreweave_ranks.so"));

/// Where the logs of the recorded run are, in the folder of a test.
pub const RANKS: &str = "ranks";

/// The library for ranks as a file, for as long as this lives.
pub struct Unpacked {
    folder: PrivateFolder,
}

impl Unpacked {
    pub(crate) fn new() -> Result<Unpacked> {
        let folder = PrivateFolder::new()?;
        let unpacked = Unpacked { folder };
        let path = unpacked.path();
        fs::write(&path, LIBRARY).map_err(Error::output("write", &path))?;
        Ok(unpacked)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("libreweave_ranks.so")
    }
}
