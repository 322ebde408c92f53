//! Runs that hang: who waits for whom, from the last entries of the logs.
//!
//! Sure only if every rank waits in a call that says so in its log, or has come to its end; a rank that computes, or
//! waits for a lock or a value, is not known to wait.

use std::collections::HashMap;

use crate::event::{Event, Flow, Logged, Logs};
use crate::ids::{Rank, Site, Window};

/// A rank that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waits {
    pub rank: Rank,
    pub site: Site,
    pub on: On,
}

/// What for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum On {
    /// A collective that these have not entered.
    Collective(Vec<Rank>),
    /// A fence that these have not entered.
    Fence(Vec<Rank>),
    /// A message, from this rank if the receive names one.
    Message(Option<Rank>),
    /// That this rank takes a message.
    Taking(Rank),
}

impl std::fmt::Display for On {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = |ranks: &[Rank]| match ranks {
            [one] => format!("rank {one} has"),
            _ => {
                let numbers: Vec<String> = ranks.iter().map(ToString::to_string).collect();
                format!("ranks {} have", numbers.join(", "))
            }
        };
        match self {
            On::Collective(missing) if missing.is_empty() => write!(f, "a collective operation"),
            On::Collective(missing) => write!(f, "a collective operation that {} not entered", names(missing)),
            On::Fence(missing) if missing.is_empty() => write!(f, "a fence"),
            On::Fence(missing) => write!(f, "a fence that {} not entered", names(missing)),
            On::Message(Some(from)) => write!(f, "a message from rank {from}"),
            On::Message(None) => write!(f, "a message from anybody"),
            On::Taking(by) => write!(f, "rank {by} to take its message"),
        }
    }
}

/// Who waits for whom, if all that have not come to their end wait. `ended`: those that have.
pub fn waits(logs: &Logs, ended: &[Rank]) -> Option<Vec<Waits>> {
    let mut all = Vec::new();
    for number in 0..logs.len() {
        let rank = Rank(number as u32);
        if !ended.contains(&rank) {
            all.push(wait_of(logs, number)?);
        }
    }
    (!all.is_empty()).then_some(all)
}

fn wait_of(logs: &Logs, number: usize) -> Option<Waits> {
    let log = &logs[number];
    // Of several threads others may go on.
    if log.iter().any(|logged| logged.strand > 0) {
        return None;
    }
    let passing = |logged: &&Logged| matches!(logged.event, Event::Local { .. } | Event::Buffer { .. });
    let last = log.iter().rev().find(|logged| !passing(logged))?;
    let on = match &last.event {
        Event::Enter { collective, flow, .. } => {
            let entered = |rank: &Rank| {
                let same = |logged: &Logged| matches!(&logged.event, Event::Enter { collective: other, .. } if other == collective);
                logs[rank.0 as usize].iter().any(same)
            };
            let everybody = (0..logs.len() as u32).map(Rank);
            let asked: Vec<Rank> = match flow {
                Flow::All { contributors } if *contributors as usize == logs.len() => everybody.collect(),
                Flow::All { .. } => Vec::new(),
                Flow::FromRoot { root } => vec![*root],
                Flow::ToRoot { .. } => everybody.collect(),
                Flow::Prefix { before } => before.clone(),
                Flow::Pairs { from, .. } => from.clone(),
            };
            On::Collective(asked.into_iter().filter(|rank| !entered(rank)).collect())
        }
        Event::Fence { window, .. } => {
            let count = |log: &[Logged]| fences(log).get(window).copied().unwrap_or(0);
            let mine = count(log);
            let behind = |rank: &u32| count(&logs[*rank as usize]) < mine && has(&logs[*rank as usize], *window);
            On::Fence((0..logs.len() as u32).filter(behind).map(Rank).collect())
        }
        Event::Posted { from, .. } => On::Message(*from),
        Event::Send { to, synchronous: Some(_), .. } => On::Taking(*to),
        _ => return None,
    };
    Some(Waits { rank: Rank(number as u32), site: last.site, on })
}

fn fences(log: &[Logged]) -> HashMap<Window, usize> {
    let mut counts = HashMap::new();
    for logged in log {
        if let Event::Fence { window, .. } = logged.event {
            *counts.entry(window).or_default() += 1;
        }
    }
    counts
}

/// Has the rank a part of the window?
fn has(log: &[Logged], wanted: Window) -> bool {
    log.iter().any(|logged| matches!(logged.event, Event::WindowMade { window, .. } if window == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Collective;
    use crate::ids::{Communicator, Request};

    fn at(event: Event) -> Logged {
        Logged { strand: 0, site: Site(7), event }
    }

    #[test]
    fn everybody_must_wait() {
        let world = Collective { communicator: Communicator(0), number: 1 };
        let enter = at(Event::Enter { collective: world, flow: Flow::All { contributors: 2 }, contributes: true });
        let receive =
            at(Event::Posted { communicator: Communicator(0), request: Request(1), from: Some(Rank(0)), tag: None });
        let found = waits(&vec![vec![enter.clone()], vec![receive.clone()]], &[]).expect("both wait");
        let told: Vec<String> = found.iter().map(|waits| waits.on.to_string()).collect();
        assert_eq!(told, ["a collective operation that rank 1 has not entered", "a message from rank 0"]);
        // A rank that is on its way is not known to wait.
        assert_eq!(waits(&vec![vec![enter.clone()], vec![]], &[]), None);
        assert_eq!(waits(&vec![vec![enter.clone()], vec![]], &[Rank(1)]).map(|all| all.len()), Some(1));
        let gone_on = vec![receive, at(Event::Exit { collective: world })];
        assert_eq!(waits(&vec![vec![enter], gone_on], &[]), None);
    }
}
