//! Atomicity violations by questions to the [engine](crate::feasible): window by window, block by block, cycle by cycle. Each
//! answer is judged by the [checker](crate::witness), which builds the graph over transactions by itself.

use reweave_order::Budget;

use super::Cycle;
use crate::feasible::{Answer, Index, Question};
use crate::history::Mode;

/// Asks for a reordering that has a cycle.
pub fn ask(index: &Index<'_>, mode: Mode, cycle: &Cycle, budget: Budget<'_>) -> Answer {
    Question::in_order(index, mode, &cycle.edges).map_or(Answer::No, |question| question.ask(budget).0)
}
