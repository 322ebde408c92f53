//! The rules of the definition by name, so that a test can switch one off and see that it is missed.

/// A rule of [`history`](crate::history).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// A guarded event needs a valid thread.
    Guards,
    /// An outcome needs a valid thread.
    Outcomes,
    /// A compare-exchange returns what it returned.
    CompareExchange,
    /// In [`Mode::Prefix`](crate::history::Mode::Prefix) and [`Mode::Said`](crate::history::Mode::Said) every read
    /// does.
    KeptReads,
    /// What an invalid thread writes is unknown.
    UnknownValues,
    /// What an update writes is unknown if its own read changed.
    UpdateNeedsItsRead,
    /// What an exchange writes is not.
    ExchangeNeedsNoRead,
    /// A lock held is not free.
    Exclusion,
    /// The holder's release must be in the reordering, not only come first in it if it is.
    Release,
    /// Shared holders do not exclude each other.
    Sharing,
    /// A failed acquisition needs another holder.
    FailedTry,
    /// Events in [`Step::after`](crate::history::Step::after) come first.
    #[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "only tests take rules away"))]
    After,
    /// A waking by notify needs one.
    Notify,
    /// What timed out was not notified.
    Timeout,
    /// A take needs a token.
    Count,
    /// A failed take needs that there is none.
    FailedTake,
    /// Nobody leaves a round of a barrier that is not full.
    Rounds,
    /// One leaves a round as the serial one.
    Serial,
    /// Nobody writes between a goal's last write and the end.
    LastWrite,
}

#[cfg(feature = "testing")]
impl Rule {
    pub const ALL: [Rule; 19] = [
        Rule::Guards,
        Rule::Outcomes,
        Rule::CompareExchange,
        Rule::KeptReads,
        Rule::UnknownValues,
        Rule::UpdateNeedsItsRead,
        Rule::ExchangeNeedsNoRead,
        Rule::Exclusion,
        Rule::Release,
        Rule::Sharing,
        Rule::FailedTry,
        Rule::After,
        Rule::Notify,
        Rule::Timeout,
        Rule::Count,
        Rule::FailedTake,
        Rule::Rounds,
        Rule::Serial,
        Rule::LastWrite,
    ];
}
