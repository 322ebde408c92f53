//! Where threads spin for ever, as reports have it.

use reweave_conductor::interrupts::is_timer_channel;
use reweave_model::Accessor;
use reweave_predict::endings::{self, Spinning};
use reweave_report::Describer;
use reweave_trace::Trace;

use reweave_launch::Result;

/// Where the threads of a run spin at its end, if that is all they do.
pub fn spinning(trace: &Trace) -> Result<Option<Vec<Accessor>>> {
    let describer = Describer { symbols: trace.symbols() };
    let accessor = |spinning: Spinning| {
        let Spinning { event, thread, pc, stack, addr } = spinning;
        let op = format!("wait for a change of {}", describer.address(addr));
        Accessor { event, thread, pc, stack, op, locks_held: Vec::new() }
    };
    let found = endings::spinning(trace, &|channel| is_timer_channel(channel.0))?;
    Ok(found.map(|places| places.into_iter().map(accessor).collect()))
}
