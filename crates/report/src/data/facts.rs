//! What is known of a finding beyond the fields of its JSON: whoever makes an item says it, and of a report that is
//! read it is read off the words, here and nowhere else. So nothing that decides looks at words, and reports stay as
//! they are.

use reweave_model::Kind;
use reweave_trace::Outcome;

use super::Item;
use crate::describe;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// A race by the memory model alone.
    pub memory_order: bool,
    /// Of a race: the variable, without the offset in it.
    pub variable: Option<String>,
    /// Of a misuse: a thread that is neither joined nor detached.
    pub unjoined: bool,
    /// How the run that did it ended, where it did by itself.
    pub ended: Option<Outcome>,
    /// It is how the recorded run itself failed: that takes no special schedule.
    pub failed_as_recorded: bool,
}

// Parts of summaries by which these are known.
pub(crate) const RACE_ON: &str = "data race on ";
pub(crate) const MEMORY_ORDER: &str = "(memory-order)";
pub(crate) const UNJOINED: &str = "neither joined nor detached";
/// Begins the summary of how the recorded run itself failed.
pub const RECORDED_RUN: &str = "the recorded run";

impl Facts {
    pub(super) fn read(item: &Item) -> Self {
        let summary = item.summary.as_str();
        Self {
            memory_order: item.kind == Kind::Race && summary.contains(MEMORY_ORDER),
            variable: (item.kind == Kind::Race).then(|| variable(summary)).flatten(),
            unjoined: item.kind == Kind::Misuse && summary.contains(UNJOINED),
            ended: item.outcome.as_deref().and_then(describe::read_outcome),
            failed_as_recorded: item.kind == Kind::Failure && summary.starts_with(RECORDED_RUN),
        }
    }
}

/// `balance` in `data race on balance+4 (memory-order): …`
fn variable(summary: &str) -> Option<String> {
    let rest = summary.strip_prefix(RACE_ON)?;
    let end = [": ", " (", "+", ".", "["].iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use reweave_model::Strength;

    use super::*;

    fn read(kind: Kind, summary: &str, outcome: &str) -> Facts {
        let text = Some(outcome.to_owned());
        Facts::read(&Item { summary: summary.into(), outcome: text, ..Item::new(kind, Strength::Confirmed) })
    }

    #[test]
    fn what_reports_say_in_words() {
        let race = read(Kind::Race, "data race on table+8 (memory-order): what stands between …", "ended normally");
        let (variable, ended) = (Some("table".to_owned()), Some(Outcome::Exited { status: 0 }));
        assert_eq!(race, Facts { memory_order: true, variable, ended, ..Facts::default() });
        let text = "thread 2 ends, but is neither joined nor detached";
        assert!(read(Kind::Misuse, text, "").unjoined && !read(Kind::Race, text, "").unjoined);
        let failed = read(Kind::Failure, "the recorded run ended with status 3", "ended with status 3; it printed …");
        assert_eq!((failed.failed_as_recorded, failed.ended), (true, Some(Outcome::Exited { status: 3 })));
        assert!(!read(Kind::Failure, "a run under another schedule ended by SIGABRT", "").failed_as_recorded);
    }
}
