//! One file per analysis.

pub mod cp;
pub mod goodlock;
pub mod hb;
pub mod lock_history;
pub mod lockset;
pub mod maximal;
pub mod misuse;
pub mod nondeterminism;
pub mod shb;
pub mod syncp;
pub mod syncp_deadlock;
pub mod wcp;
