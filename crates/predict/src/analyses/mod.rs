//! One file per analysis.

pub mod cp;
pub mod hb;
pub mod lock_history;
pub mod lockset;
pub mod maximal;
pub mod nondeterminism;
pub mod shb;
pub mod syncp;
pub mod wcp;
