//! The steps around the bug, one line each, indented by thread: who ran when is seen at a glance.

use std::io::{self, Write};

use super::at;
use crate::escape::printable;
use crate::view::{Row, Run};

/// Shows `count` rows before the first access of the finding (without one, the end of the run) and a few after the
/// last.
pub fn write(run: &Run, count: usize, out: &mut dyn Write) -> io::Result<()> {
    let marked = run.marked();
    let end = run.rows.len();
    let first = marked.values().min().copied().unwrap_or(end).saturating_sub(count);
    let last = marked.values().max().map_or(end, |last| (last + 7).min(end));
    writeln!(out, "\nSteps of the run ({} in all; it {})", run.steps, run.outcome)?;
    let mut previous = None;
    for row in &run.rows[first..last] {
        match row {
            Row::Fold { steps, threads } => {
                writeln!(out, "        … {steps} steps of {threads} threads")?;
                previous = None;
            }
            Row::Step(step) => {
                if previous != Some(step.thread) {
                    writeln!(out, "  {}", printable(&run.thread_name(step.thread)))?;
                    previous = Some(step.thread);
                }
                let mark = step.mark.map_or(String::new(), |number| format!("({number})"));
                let indent = "  ".repeat((step.thread as usize).min(8));
                let line = format!("{:>8} {mark:>4} {indent}{:<48} {}", step.number, step.what, at(&step.place));
                writeln!(out, "{}", printable(line.trim_end()))?;
            }
        }
    }
    Ok(())
}
