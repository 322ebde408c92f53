//! One file per analysis.

pub mod cp;
pub mod hb;
pub mod lock_reacquire;
pub mod lockset;
pub mod maximal;
pub mod reduction;
pub mod serializability;
pub mod shb;
pub mod syncp;
pub mod wcp;
