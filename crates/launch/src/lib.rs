//! Starts programs and takes what they record: sessions, collectors, the watchdog, watching.
//!
//! What kind of program it is knows a [`FrontEnd`]; none is known here. The program runs as it always does, with the
//! front end's runtime in it. Every process of it that wants to be recorded connects to
//! the [`session`], gets a shared region and writes its events there; a [`collector`] thread per process takes them to
//! disk. Nothing of ours runs in the target but the runtime, so a target that is killed loses nothing.
//!
//! Invariants: the program's own output stays its own (nothing here prints); recording never breaks the run.

pub mod cache;
pub mod collector;
mod error;
pub mod exit;
mod family;
pub mod folder;
pub mod front_end;
mod handshake;
pub mod identity;
pub mod interrupt;
pub mod memory;
mod pidfd;
pub mod region;
mod registry;
pub mod session;
pub mod sink;
mod symbols;
pub mod target;
pub mod watch;
mod watchdog;

pub use collector::{Collected, Divergence, human_size};
pub use error::{Error, Result};
pub use folder::{PrivateFolder, beside};
pub use front_end::{FrontEnd, FrontEnds};
pub use region::Policy;
pub use registry::{ENV_IGNORE, FREE};
pub use session::{MAX_TRACE, Options, QUANTUM, QUIET_SLICES, Run, Script, run};
pub use target::{Input, Output};
