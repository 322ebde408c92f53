//! Each rule of the definition is needed: without it, the engine differs from the oracle within a few random histories.

use reweave_order::Budget;
use reweave_predict::feasible::{Feasibility, Goal, Index, Question, Rule};
use reweave_predict::history::{Action, Condition, History, Lock, Mode, Pos, Waking};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{Construct, Draft, Random, generate_aimed};

/// Random histories that each rule may take to be missed.
const HISTORIES: u64 = 2000;

fn pairs(history: &History) -> Vec<(Pos, Pos)> {
    let all: Vec<Pos> = history.positions().collect();
    let pairs = all.iter().flat_map(|&p| all.iter().map(move |&q| (p, q)));
    pairs.filter(|&(p, q)| p < q && history.conflict(p, q)).collect()
}

/// Whether the engine gives a wrong answer without the rule. No answer is not a wrong one.
fn is_missed(rule: Rule, history: &History) -> bool {
    let index = Index::new(history);
    if rule == Rule::LastWrite {
        return last_write_is_missed(history, &index);
    }
    let mode = if rule == Rule::KeptReads { Mode::Prefix } else { Mode::ControlFlow };
    let races = Oracle::new(history, mode).races();
    pairs(history).into_iter().any(|pair| {
        let question = Question::without(rule, &index, mode, Goal::race(history, mode, pair));
        let answer = question.map_or(Feasibility::No, |question| question.ask(Budget::default()).0);
        match answer {
            Feasibility::Reordering(_) => !races.contains(&pair),
            Feasibility::No => races.contains(&pair),
            Feasibility::Unknown(_) => false,
        }
    })
}

/// The same for the rule that only questions about reads have.
fn last_write_is_missed(history: &History, index: &Index<'_>) -> bool {
    let mode = Mode::ControlFlow;
    let views = Oracle::new(history, mode).reads_from();
    let accesses = |pos: Pos| history.step(pos).action.access();
    history.positions().any(|read| {
        accesses(read).into_iter().flat_map(|access| &access.reads).any(|&(cell, _)| {
            history.positions().filter(|&writer| writer != read).any(|writer| {
                accesses(writer).is_some_and(|access| access.writes.iter().any(|(other, _)| *other == cell)) && {
                    let goal = Goal::reads_from(read, cell, Some(writer));
                    let question = Question::without(Rule::LastWrite, index, mode, goal);
                    let answer = question.map_or(Feasibility::No, |question| question.ask(Budget::default()).0);
                    matches!(answer, Feasibility::Reordering(_)) != views.contains(&(read, cell, Some(writer)))
                }
            })
        })
    })
}

/// What a history must have for a rule to be missed.
fn aim(rule: Rule) -> &'static [Construct] {
    match rule {
        Rule::Serial | Rule::Rounds => &[Construct::Barrier],
        Rule::Sharing => &[Construct::SharedLock, Construct::AfterEdge],
        Rule::ExchangeNeedsNoRead => &[Construct::Exchange],
        Rule::UpdateNeedsItsRead => &[Construct::Update],
        Rule::Notify => &[Construct::Notified, Construct::NotifyAll],
        Rule::Count => &[Construct::Take],
        Rule::FailedTake => &[Construct::TakeFailed],
        Rule::FailedTry => &[Construct::FailedTry],
        Rule::CompareExchange => &[Construct::CasDone, Construct::CasFailed],
        Rule::After => &[Construct::AfterEdge],
        _ => &[],
    }
}

/// Two wait, one is notified and the other times out. That matters only if neither the wait nor the notify can move out
/// of the way, which is too rare in histories of all kinds.
fn with_timeout(seed: u64) -> History {
    let mut random = Random::new(seed);
    let (condition, mut draft) = (Condition(0), Draft::new());
    draft.acquire(0, 0);
    let wait = draft.step(0, Action::Wait { condition, lock: Lock(0) });
    for part in if random.percent(50) { [0, 1] } else { [1, 0] } {
        if part == 0 {
            draft.write(1, 0, 1);
        } else {
            draft.acquire(1, 1);
        }
    }
    draft.step(1, Action::Wait { condition, lock: Lock(1) });
    let notify = draft.step(2, Action::Notify { condition, all: false });
    let timed_out = draft.step(0, Action::Woken { condition, lock: Lock(0), how: Waking::TimedOut });
    draft.write(0, 0, 2);
    draft.step(1, Action::Woken { condition, lock: Lock(1), how: Waking::Notified });
    for (first, second) in [(wait, notify), (notify, timed_out)] {
        if random.percent(50) {
            draft.order(first, second);
        }
    }
    draft.history()
}

#[test]
fn every_rule_is_missed() {
    let mut left: Vec<Rule> = Rule::ALL.to_vec();
    let mut missed = Vec::new();
    for seed in 0..HISTORIES {
        left.retain(|&rule| {
            let history = match rule {
                Rule::Timeout => with_timeout(seed),
                _ => generate_aimed(seed, 14, aim(rule)),
            };
            let is_missed = is_missed(rule, &history);
            if is_missed {
                missed.push((rule, seed));
            }
            !is_missed
        });
        if left.is_empty() {
            break;
        }
    }
    println!("first missed by the history with this seed: {missed:?}");
    assert!(left.is_empty(), "nothing of {HISTORIES} histories needs {left:?}");
}
