//! In a loop that waits for threads: nothing comes before the wait that makes it vain.

use super::code::{Block, Def, Kind, Statement, Value};
use super::flow_graph::Loop;
use super::join_loops::Finder;
use super::solve::{FrameId, Point, ThreadId};

impl Finder<'_, '_> {
    /// An exception that comes before a thread is waited for, and is handled within the loop. (What the wait itself throws
    /// comes when the thread is over; who may be interrupted is looked at elsewhere.)
    pub fn may_be_skipped(&self, at: Point, around: &Loop, receiver: Value) -> bool {
        let code = self.code(at.frame);
        let block = &code.blocks[at.block as usize];
        let is_quiet = |one: &Statement| match &one.kind {
            Kind::Define(value) => matches!(
                code.def(*value),
                Def::Load(_) | Def::Cast(..) | Def::Constant(_) | Def::Phi(_) | Def::Length(_) | Def::Parameter(_)
            ),
            Kind::Call(call) => call.to.map(|to| code.plain(to)) == Some(receiver),
            _ => false,
        };
        let is_inside = |to: Block| around.blocks.contains(&to) && !code.for_interrupts.contains(&to);
        block.caught_by().any(is_inside) && !block.statements[..at.index as usize].iter().all(is_quiet)
    }

    /// Whoever waits for a thread before it is started does not wait. What is started in the loop itself must be what is
    /// waited for later in the same turn.
    pub fn is_started_before(&self, thread: ThreadId, join: Point) -> bool {
        let (code, graph) = (self.code(join.frame), self.graph(join.frame));
        let Some(around) = graph.innermost[join.block as usize].map(|at| &graph.loops[at]) else { return false };
        let receiver = |at: Point| {
            let value = code.plain(*self.solver.call_at(at)?.arguments.first()?);
            Some(self.solver.forwarded(join.frame, value).map_or(value, |stored| code.plain(stored)))
        };
        let inside = |block: &u32| around.blocks.contains(block);
        let called: Vec<FrameId> = self
            .solver
            .callees
            .iter()
            .filter(|(at, _)| at.frame == join.frame && inside(&at.block))
            .flat_map(|(_, callees)| callees.iter().flat_map(|callee| self.solver.below(*callee)))
            .collect();
        self.solver.threads[thread.index()].starts.iter().all(|start| match start.frame == join.frame {
            true if inside(&start.block) => {
                receiver(*start).is_some()
                    && receiver(*start) == receiver(join)
                    && graph.comes_first((start.block, start.index), (join.block, join.index))
            }
            true => true,
            false => !called.contains(&start.frame),
        })
    }
}
