//! Where a failed run ended, as reports have it.

use reweave_model::Accessor;
use reweave_predict::endings::{self, LastAct, LastPlace, SignalKinds};
use reweave_report::{Describer, describe};
use reweave_trace::{Outcome, Trace};

use crate::replay::is_forked;
use reweave_launch::Result;

/// Where a failed run ended: the fatal signal, or what each thread waits for.
pub fn last_places(trace: &Trace, outcome: &Outcome) -> Result<Vec<Accessor>> {
    let describer = Describer { symbols: trace.symbols() };
    let accessor = |place: LastPlace| {
        let op = match place.act {
            LastAct::Waits { on, object, orphaned } => {
                let why = if orphaned { ", which a thread of the parent held that is not here" } else { "" };
                format!("wait for {}{why}", describer.blocked_on(on, object))
            }
            LastAct::Signal(number) => describe::signal_name(number),
        };
        let LastPlace { event, thread, pc, stack, locks_held, .. } = place;
        Accessor { event, thread, pc, stack, op, locks_held }
    };
    let signals = SignalKinds { own: &trace.language().failure_signals, forked: is_forked(trace.meta()) };
    Ok(endings::last_places(trace, outcome, signals)?.into_iter().map(accessor).collect())
}
