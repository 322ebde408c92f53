//! One file per analysis.

pub mod cp;
pub mod destroyed;
pub mod goodlock;
pub mod hb;
pub mod lock_history;
pub mod lock_reacquire;
pub mod lockset;
pub mod maximal;
pub mod misuse;
pub mod nondeterminism;
pub mod reduction;
pub mod serializability;
pub mod shb;
pub mod syncp;
pub mod syncp_deadlock;
pub mod wcp;
