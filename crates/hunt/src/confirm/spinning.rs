//! Where threads spin for ever, as findings have it.

use reweave_conductor::interrupts::is_timer_channel;
use reweave_model::{AccessOp, Accessor, Awaited};
use reweave_predict::endings::{self, Spinning};
use reweave_trace::Trace;

use reweave_launch::Result;

/// Where the threads of a run spin at its end, if that is all they do.
pub fn spinning(trace: &Trace) -> Result<Option<Vec<Accessor>>> {
    let accessor = |spinning: Spinning| {
        let Spinning { event, thread, pc, stack, addr } = spinning;
        let op = AccessOp::WaitsFor(Awaited::Change(addr));
        Accessor { event, process: None, thread, pc, stack, op, locks_held: Vec::new() }
    };
    let found = endings::spinning(trace, &|channel| is_timer_channel(channel.0))?;
    Ok(found.map(|places| places.into_iter().map(accessor).collect()))
}
