//! Stalls: threads that wait for what nobody is left to do. A notify that came too early, a semaphore nobody posts, a
//! barrier one short, a join of a thread that is stuck, and locks in between.
//!
//! **Definition**, over the states of [`history`](crate::history). After a feasible reordering a thread
//! - *is over* if it has done all its events, and ends with them
//!   ([`Endings::ended`](crate::search::stalls::Endings::ended));
//! - *waits* if rule 3 permits its next event and that event (1) has not got all of
//!   [`Step::after`](crate::history::Step::after) yet; or acquires a lock that is held against it; or ends a wait whose
//!   lock is held, or that was notified in the trace and has not been here; or leaves a round of a barrier that is not
//!   full; or takes from a semaphore at 0. What a deadline or a try would end
//!   ([`Step::tried`](crate::history::Step::tried)) is waited for only as far as the lock of a condition goes;
//! - *can go on* otherwise: as observed, or in some other way (its reads changed, an outcome is another one here).
//!
//! The state is a stall if every thread is over or waits, at least one that has begun waits, and no locks are waited
//! for in a circle: that would be a deadlock, and the rest its consequence. Then nobody ever moves again: what a
//! waiting thread waits for only others could do, and all of them wait or are over. So the definition's "every thread
//! outside the set has ended" is the whole set of threads here, and stalls beside threads that go on are not looked
//! for: such a thread could notify, post or arrive in ways that the trace does not show.
//!
//! **How.** How far each thread is (a [`Cut`](crate::search::stalls::Cut)) settles who holds what, the counts and who
//! has not arrived; what is left to ask is whether these prefixes have a feasible order in which no notify chooses
//! those who wait for one. Exact for histories with few cuts. Of longer ones only those cuts are tried in which a
//! thread stops at one wait and the others go as far as they get: sound, not complete.

use reweave_model::wire::kind;
use reweave_model::{Claim, Finding, Kind, Strength};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee};
use crate::prediction::Prediction;
use crate::search::stalls::stalls;

/// The analysis `stall`.
pub struct Stall;

impl Analysis for Stall {
    fn about(&self) -> About {
        let summary = "threads that wait for a notify, a post, an arrival or an end that never comes";
        About::new("stall", Kind::Deadlock, Guarantee::Sound, summary)
            .claiming(Claim::NeverHappens)
            .by_default()
            .costly()
    }

    /// Asks if the trace has anything but locks to wait for, or a lock that is never released.
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        let waits = [kind::WAIT, kind::SEMAPHORE_TAKE, kind::BARRIER_ARRIVE, kind::JOIN, kind::BLOCKED];
        let count = |operation| prediction.trace.count_of(operation).unwrap_or(0);
        let kept = count(kind::ACQUIRE) + count(kind::WOKEN) > count(kind::RELEASE) + count(kind::WAIT);
        if !kept && !waits.iter().any(|operation| prediction.trace.may_have(*operation)) {
            return Ok(());
        }
        let options = prediction.options;
        let found = stalls(prediction.trace, self.id(), &options.limits, &mut prediction.progress(self.id()))?;
        prediction.count([
            ("stall_questions", found.stats.questions),
            ("stalls_not_looked_for", found.stats.not_looked_for.into()),
            ("unknown_deadlocks", found.stats.unknown),
            ("refused_witnesses", found.stats.refused),
        ]);
        let told = options.for_trial || options.by_name();
        let shown = |finding: &Finding| finding.strength != Strength::Potential || told;
        prediction.answer.findings.extend(found.findings.into_iter().filter(shown));
        Ok(())
    }
}
