//! Where a failed run ended, as reports have it.

use reweave_model::{AccessOp, Accessor, Awaited};
use reweave_predict::endings::{self, LastAct, LastPlace, SignalKinds};
use reweave_trace::{Outcome, Trace};

use crate::replay::is_forked;
use reweave_launch::Result;

/// Where a failed run ended: the fatal signal, the exception that nobody caught, or what each thread waits for.
pub fn last_places(trace: &Trace, outcome: &Outcome) -> Result<Vec<Accessor>> {
    let language = trace.language();
    let signals = SignalKinds { own: &language.failure_signals, forked: is_forked(trace.meta()) };
    Ok(endings::last_places(trace, outcome, signals)?.into_iter().map(accessor).collect())
}

/// Threads that wait for locks of each other when the program is over: it ended all the same.
pub fn circle(trace: &Trace) -> Result<Vec<Accessor>> {
    if !trace.language().locks_wait_for_ever {
        return Ok(Vec::new());
    }
    Ok(endings::circle(trace)?.into_iter().map(accessor).collect())
}

fn accessor(place: LastPlace) -> Accessor {
    let op = match place.act {
        LastAct::Waits { on, object, orphaned } => AccessOp::WaitsFor(Awaited::Object { on, object, orphaned }),
        LastAct::Signal(number) => AccessOp::Signal(number),
        LastAct::Exception => AccessOp::Exception,
    };
    let LastPlace { event, thread, pc, stack, locks_held, .. } = place;
    Accessor { event, process: None, thread, pc, stack, op, locks_held }
}
