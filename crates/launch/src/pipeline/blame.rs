//! Which of several torn blocks is to blame. A block that nobody declared counts only if the run that tears it ends badly; but that
//! run may have torn another one as well. Where that other one leads to the same end without the first, nothing is known against
//! the first.

use std::fs;

use reweave_model::{Kind, Strength};
use reweave_report::{Item, resolve};
use reweave_trace::Trace;

use super::Hunt;
use crate::Result;
use crate::confirm::{self, Goal};

impl Hunt<'_> {
    /// Takes back what is said against blocks that others are to blame for.
    pub(super) fn blame(&mut self) -> Result<()> {
        let atomicity = resolve::kind_name(Kind::Atomicity);
        let mut torn: Vec<(usize, Goal, Trace)> = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            let inferred = item.kind == atomicity && item.block.as_deref() == Some("inferred");
            if !inferred || item.schedule.is_none() {
                continue;
            }
            let own = self.plan.folder.join(item.id.to_string());
            if let Some(goal) = Goal::load(&own.join(confirm::COMMAND)) {
                let trace = Trace::open(own.join(&goal.trace))?;
                torn.push((at, goal, trace));
            }
        }
        // By whom each one is explained, if it is.
        let mut explained: Vec<(usize, usize)> = Vec::new();
        for (one, goal, trace) in &torn {
            for (other, other_goal, other_trace) in &torn {
                if one != other
                    && self.items[*one].harm == self.items[*other].harm
                    && goal.shown(other_trace)?.is_none()
                    && other_goal.shown(trace)?.is_some()
                {
                    explained.push((*one, *other));
                }
            }
        }
        let guilty = |at: usize| explained.iter().all(|(one, _)| *one != at);
        let acquitted: Vec<(usize, usize)> = explained.iter().copied().filter(|(_, other)| guilty(*other)).collect();
        for (one, other) in acquitted {
            let other = self.items[other].id;
            let item = &mut self.items[one];
            if item.schedule.is_some() {
                let _ = fs::remove_dir_all(self.plan.folder.join(item.id.to_string()));
                acquit(item, other);
            }
        }
        Ok(())
    }
}

fn acquit(item: &mut Item, other: u32) {
    item.strength = resolve::strength_name(Strength::Potential).into();
    (item.schedule, item.harm, item.outcome, item.preemptions) = (None, None, None, None);
    item.why_unconfirmed = Some(format!("a run did it, but what came of it comes from [{other}] without it"));
}
