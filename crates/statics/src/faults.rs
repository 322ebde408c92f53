//! Mistakes that tests make on purpose, to see that they are noticed. Nothing is ever seeded outside of tests.

macro_rules! faults {
    ($($(#[$about:meta])* $name:ident,)+) => {
        /// A mistake in the analysis.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Fault {
            $($(#[$about])* $name,)+
        }

        impl Fault {
            pub const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

faults! {
    /// The upper end of a sum is one too low.
    SumTooSmall,
    /// A join of ranges keeps one of them.
    JoinForgets,
    /// Numbers do not wrap around.
    NoWrapping,
    /// `x < y` leaves out one number too many.
    RefinesTooMuch,
    /// A write replaces what was there on summaries, too.
    StrongOnSummaries,
    /// A compare-and-exchange is taken to succeed.
    ExchangeAlwaysWrites,
    /// What others write in parallel is not seen.
    NoInterference,
    /// What a joined thread wrote is not taken over.
    JoinTakesNothing,
    /// What a joined thread wrote replaces all other writes.
    JoinReplaces,
    /// A write under a lock is taken to be protected after the lock was left.
    GuardsStay,
    /// A lock that is left shows nothing to the next holder.
    NothingReleased,
    /// A start in a loop is one thread.
    LoopsStartOne,
    /// What many threads start is one thread.
    ManyStartOne,
    /// A join in a loop ends all threads of a site.
    JoinEndsAll,
    /// Threads that are started one after the other are not in parallel.
    SiblingsOrdered,
    /// A lock held by readers keeps readers apart from each other and from nobody else.
    SharedExcludes,
    /// Two writes in parallel before a read are no choice.
    NoWritePairs,
    /// What a branch decides is not tainted.
    NoControl,
    /// A place that a choice decides is not tainted.
    NoPlaces,
    /// A function called because of a choice is not tainted.
    NoCalls,
    /// Whether an update happens does not matter.
    UpdatesMayBeMissing,
    /// Sums and products can be mixed.
    FamiliesMix,
    /// Updates need no lock.
    UpdatesNeedNoLock,
    /// The solver stops after one round over the threads.
    OneRound,
    /// Handles in memory are not followed.
    NoStoredReferences,
}

#[cfg(feature = "testing")]
mod seeded {
    use super::Fault;
    use std::cell::Cell;

    thread_local! {
        static SEEDED: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Makes a mistake in this thread from now on, or none any more.
    pub fn seed(fault: Option<Fault>) {
        SEEDED.set(fault);
    }

    pub fn is_seeded(fault: Fault) -> bool {
        SEEDED.get() == Some(fault)
    }

    /// A wrong analysis may never come to an end; that is noticed, too.
    pub fn goes_on_for_ever(steps: usize) -> bool {
        SEEDED.get().is_some() && steps > 20_000
    }
}

#[cfg(feature = "testing")]
pub use seeded::{goes_on_for_ever, is_seeded, seed};

#[cfg(not(feature = "testing"))]
pub const fn is_seeded(_: Fault) -> bool {
    false
}

#[cfg(not(feature = "testing"))]
pub const fn goes_on_for_ever(_: usize) -> bool {
    false
}
