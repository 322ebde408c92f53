//! The story of a run up to its bug: one column per thread, so that who ran when is seen at a glance.

use std::io::{self, Write};

use reweave_model::Op;
use reweave_trace::Trace;

use crate::describe::Describer;

/// Shows `count` steps before the bug, the two steps of the bug itself (at `bug` steps from the start; without one, the
/// end of the trace) and a few after it.
pub fn write(trace: &Trace, bug: Option<u64>, count: u64, out: &mut dyn Write) -> io::Result<()> {
    let describer = Describer { symbols: trace.symbols() };
    let total = steps_of(trace)?;
    let bug_at = bug.unwrap_or(total);
    let first = bug_at.saturating_sub(count);
    let last = bug.map_or(u64::MAX, |bug| bug + 6);
    writeln!(out, "\nsteps {} to {} of {total}:", first + 1, last.min(total))?;
    let mut step = 0;
    let mut previous = None;
    let mut events = trace.events();
    while let Some(event) = events.next().map_err(io::Error::other)? {
        if event.op.is_step() {
            step += 1;
        }
        if step <= first || step > last || matches!(event.op, Op::Module { .. }) {
            continue;
        }
        if previous != Some(event.thread) {
            writeln!(out, "  T{}", event.thread)?;
            previous = Some(event.thread);
        }
        let mark = match bug {
            Some(bug) if event.op.is_step() && step == bug + 1 => "(1)",
            Some(bug) if event.op.is_step() && step == bug + 2 => "(2)",
            _ => "",
        };
        let what = format!("{} {}", crate::describe::kind(&event.op), describer.operands(&event.op));
        let line =
            format!("{mark:>5} {}{:<56} {}", "  ".repeat(event.thread.index().min(8)), what, describer.place(event.pc));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn steps_of(trace: &Trace) -> io::Result<u64> {
    let mut steps = 0;
    let mut events = trace.events();
    while let Some(event) = events.next().map_err(io::Error::other)? {
        steps += u64::from(event.op.is_step());
    }
    Ok(steps)
}
