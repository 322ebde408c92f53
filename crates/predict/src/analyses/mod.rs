//! One file or folder per analysis, and the list of them.

pub mod access_triple;
pub mod cp;
pub mod destroyed;
pub mod goodlock;
pub mod hb;
pub mod lock_history;
pub mod lock_reacquire;
pub mod lockset;
pub mod maximal;
pub mod maximal_deadlock;
pub mod misuse;
pub mod nondeterminism;
pub mod reduction;
pub mod serializability;
pub mod shb;
pub mod stall;
pub mod sync_preserving_deadlock;
pub mod syncp;
pub mod wcp;

use crate::analysis::AnalysisRef;

/// Every analysis there is. Of those that list the same, the cheapest comes first: it gives a finding its name.
pub const ANALYSES: &[AnalysisRef] = &[
    &hb::Hb,
    &shb::Shb,
    &lockset::Lockset,
    &lock_history::LockHistory,
    &syncp::Syncp,
    &wcp::Wcp,
    &cp::Cp,
    &maximal::Maximal,
    &maximal::Prefix,
    &maximal::Said,
    &serializability::ConflictSerializability,
    &access_triple::AccessTriple,
    &lock_reacquire::Reacquire,
    &reduction::LiptonReduction,
    &goodlock::LockCycles,
    &sync_preserving_deadlock::SyncPreservingDeadlock,
    &maximal_deadlock::MaximalDeadlock,
    &stall::Stall,
    &misuse::MisuseOfSynchronization,
    &destroyed::UseAfterDestruction,
    &nondeterminism::NondeterministicReads,
];

/// The analysis of this name, as the command line has it.
pub fn find(name: &str) -> Option<AnalysisRef> {
    ANALYSES.iter().copied().find(|analysis| analysis.id().name() == name)
}
