//! Which analysis a finding comes from. Reports show its name and choose their words by what it claims; nobody compares
//! names.

use std::fmt;

/// An analysis, as findings refer to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AnalysisId {
    name: &'static str,
    claim: Claim,
}

impl AnalysisId {
    /// No analysis: a run did it before anybody looked.
    pub const RECORDING: Self = Self::new("recording", Claim::Other);

    pub const fn new(name: &'static str, claim: Claim) -> Self {
        Self { name, claim }
    }

    /// As on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.name
    }

    pub const fn claim(self) -> Claim {
        self.claim
    }
}

impl fmt::Display for AnalysisId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What an analysis says of a finding that has no witness. The order is that in
/// which one replaces another for the same places: the earlier one stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Claim {
    /// Nothing ordered the accesses in this run, unless an earlier race is the reason.
    UnorderedUnlessRaced,
    /// Nothing ordered the accesses in this run.
    Unordered,
    /// Neither locks nor the order in which they were taken keep the threads apart.
    LocksAllowIt,
    /// Each thread takes a lock that the next one holds.
    LockCycle,
    /// The accesses have no lock in common.
    NoCommonLock,
    /// A block takes a lock again that it had released.
    LockTakenAgain,
    /// Operations of a block cannot be moved past those of other threads.
    NotReducible,
    /// No thread is left to do what others wait for.
    NeverHappens,
    /// Nothing beside the kind of the finding.
    Other,
}
