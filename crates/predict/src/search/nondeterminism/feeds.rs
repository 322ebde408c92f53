//! What becomes of a value that was read, as far as the trace can tell: the events of its thread that follow, up to the
//! first that may depend on it. Approximate: nothing is known of registers, so everything that follows without a choice
//! is taken to carry the value, and an output is what the recorder sees of one (a send, or a call that leaves control).

use std::collections::HashMap;

use reweave_model::{Accessor, EventId, Feeds, Op};
use reweave_trace::{Result, Trace};

/// Events of the thread that are looked at.
const FAR: usize = 64;
/// Events of any thread that are looked at.
const FARTHEST: usize = 4096;

/// What is known already, by read.
#[derive(Default)]
pub struct Known {
    by_read: HashMap<EventId, Feeds>,
}

impl Known {
    pub fn of(&mut self, trace: &Trace, read: &Accessor) -> Result<Feeds> {
        if let Some(&known) = self.by_read.get(&read.event) {
            return Ok(known);
        }
        let feeds = feeds(trace, read)?;
        self.by_read.insert(read.event, feeds);
        Ok(feeds)
    }
}

pub fn feeds(trace: &Trace, read: &Accessor) -> Result<Feeds> {
    let facts = trace.symbols().facts();
    let explicit = trace.meta().explicit_branches;
    if trace.meta().abstract_values || (facts.is_empty() && !explicit) {
        return Ok(Feeds::Unknown);
    }
    let mut events = trace.events_from(read.event)?;
    events.next()?;
    let (mut pc, mut own) = (read.pc, 0);
    for _ in 0..FARTHEST {
        let Some(event) = events.next()? else { break };
        if event.thread != read.thread {
            continue;
        }
        own += 1;
        match event.op {
            Op::Fatal { .. } | Op::Hang => return Ok(Feeds::Failure),
            Op::Exit { status } if status != 0 => return Ok(Feeds::Failure),
            Op::Branch => return Ok(Feeds::Choice),
            Op::End => return Ok(Feeds::Nothing),
            ref op if !op.is_step() || matches!(op, Op::Exit { .. }) => continue,
            _ => {}
        }
        let has_operand = !matches!(event.op, Op::Begin | Op::Fence { .. } | Op::Woken { .. });
        if !explicit && (facts.branch_between(pc, event.pc) || has_operand && !facts.constant_address(event.pc)) {
            return Ok(Feeds::Choice);
        }
        if matches!(event.op, Op::Send { .. } | Op::Leave { .. }) {
            return Ok(Feeds::Output);
        }
        if own == FAR {
            return Ok(Feeds::Unknown);
        }
        pc = event.pc;
    }
    Ok(Feeds::Unknown)
}
