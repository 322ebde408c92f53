//! Each rule of the definition is needed: without it, the engine differs from the oracle within a few random histories.

use reweave_order::Budget;
use reweave_predict::feasible::{Answer, Index, Question, Rule};
use reweave_predict::history::{History, Mode, Pos};
use reweave_predict::oracle::Oracle;
use reweave_predict::testing::{Construct, generate, generate_aimed};

/// Random histories that each rule may take to be missed.
const HISTORIES: u64 = 1500;

fn pairs(history: &History) -> Vec<(Pos, Pos)> {
    let all: Vec<Pos> = history.positions().collect();
    let pairs = all.iter().flat_map(|&p| all.iter().map(move |&q| (p, q)));
    pairs.filter(|&(p, q)| p < q && history.conflict(p, q)).collect()
}

/// Whether the engine gives a wrong answer without the rule. No answer is not a wrong one.
fn is_missed(rule: Rule, history: &History) -> bool {
    let index = Index::new(history);
    let mode = if rule == Rule::KeptReads { Mode::Prefix } else { Mode::ControlFlow };
    let races = Oracle::new(history, mode).races();
    pairs(history).into_iter().any(|pair| {
        let question = Question::without(rule, &index, mode, &[pair.0, pair.1]);
        let answer = question.map_or(Answer::No, |question| question.ask(Budget::default()).0);
        match answer {
            Answer::Reordering(_) => !races.contains(&pair),
            Answer::No => races.contains(&pair),
            Answer::Unknown(_) => false,
        }
    })
}

/// What two rules need before anybody misses them: others time out while somebody is notified; a barrier is used again.
fn aim(rule: Rule) -> Option<&'static [Construct]> {
    match rule {
        Rule::Timeout => Some(&[Construct::TimedOut, Construct::NotifyAll, Construct::NotifyOne]),
        Rule::Serial => Some(&[Construct::Barrier]),
        _ => None,
    }
}

#[test]
fn every_rule_is_missed() {
    let mut left: Vec<Rule> = Rule::ALL.to_vec();
    let mut missed = Vec::new();
    for seed in 0..HISTORIES {
        let history = generate(seed, 12);
        left.retain(|&rule| {
            let aimed = aim(rule).map(|aim| generate_aimed(seed, 16, aim));
            let is_missed = is_missed(rule, aimed.as_ref().unwrap_or(&history));
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
