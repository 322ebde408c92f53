//! The definition by brute force: every order in which the events of small logs can happen.
//!
//! A state is how many events each strand has done. An event can happen when what the call waits for
//! has happened. In every state that can be reached, some accesses are under way; two of them that are
//! in one state race, unless they are atomic, excluded by a lock, or ordered by a fence of a context.
//! Shares no code with [`crate::lower`], [`crate::order`] or [`crate::rules`]: it reads the events.

mod lasting;
mod pairs;
mod touches;
mod waiting;

use std::collections::{BTreeMap, HashSet};

use crate::access::Role;
use crate::event::{Event, Logged, Logs, Piece};
use crate::ids::Site;
use crate::owner::Statement;

use lasting::Lasting;

/// How sure: the oracle does not say why.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    Potential,
    Race,
}

/// One event: (rank, index in the rank's log).
type At = (usize, usize);

struct Touch {
    at: At,
    owner: usize,
    bytes: Vec<(u64, u64)>,
    piece: Option<Piece>,
    role: Role,
    writes: bool,
}

struct World<'a> {
    logs: &'a Logs,
    /// The strands, each with its events.
    strands: Vec<Vec<At>>,
    position: BTreeMap<At, (usize, usize)>,
    messages: BTreeMap<At, At>,
    values: Values,
    /// The states that can be reached if values say nothing. What a rank knows about the order of its
    /// own strands when one of them completes what another one issued.
    without_values: HashSet<Vec<usize>>,
    /// Pairs of a read and a write that comes after it without any value.
    too_late: HashSet<(At, At)>,
}

/// Which values are believed to say who wrote them.
#[derive(Clone, Copy, PartialEq)]
enum Values {
    None,
    Certain,
    /// Those that several writes could have written too.
    Possible,
}

/// The races of the logs, by pair of statements. `None`: waits that several updates could have
/// satisfied come after so many that no run is left.
pub fn races(logs: &Logs) -> Option<BTreeMap<(Statement, Statement), Level>> {
    let mut world = World::new(logs);
    let touches = world.touches();
    world.find_too_late();
    world.values = Values::Certain;
    let states = world.states();
    let end: Vec<usize> = world.strands.iter().map(Vec::len).collect();
    if !states.contains(&end) {
        return None;
    }
    let letter = world.together(&touches, &states, true);
    let practice = world.together(&touches, &states, false);
    world.values = Values::Possible;
    let believed_states = world.states();
    let believed = if believed_states.contains(&end) {
        world.together(&touches, &believed_states, false)
    } else {
        practice.clone()
    };
    let mut races = BTreeMap::new();
    for (number, a) in touches.iter().enumerate() {
        for (other, b) in touches.iter().enumerate().skip(number + 1) {
            let meet = a.bytes.iter().any(|x| b.bytes.iter().any(|y| x.0 < y.1 && y.0 < x.1));
            let local = |touch: &Touch| matches!(touch.role, Role::Load | Role::Store);
            let inside = local(a) && local(b) && a.at.0 == b.at.0;
            if a.at == b.at || a.owner != b.owner || !(a.writes || b.writes) || !meet || inside {
                continue;
            }
            if !letter[number].contains(&other) || world.excluded(a, b, &states) || world.fenced(a, b, &states) {
                continue;
            }
            let Some(mut level) = world.atomicity(a, b) else { continue };
            if !practice[number].contains(&other) || !believed[number].contains(&other) {
                level = Level::Potential;
            }
            let statement = |touch: &Touch| (world.logged(touch.at).site, touch.role);
            let (one, two) = (statement(a), statement(b));
            let key = if one <= two { (one, two) } else { (two, one) };
            let entry = races.entry(key).or_insert(level);
            *entry = level.max(*entry);
        }
    }
    Some(races)
}

impl<'a> World<'a> {
    fn new(logs: &'a Logs) -> World<'a> {
        let mut strands = Vec::new();
        let mut position = BTreeMap::new();
        for (rank, log) in logs.iter().enumerate() {
            let count = log.iter().map(|logged| logged.strand + 1).max().unwrap_or(0);
            for strand in 0..count {
                let events: Vec<At> =
                    (0..log.len()).filter(|&index| log[index].strand == strand).map(|index| (rank, index)).collect();
                for (place, &at) in events.iter().enumerate() {
                    position.insert(at, (strands.len(), place));
                }
                strands.push(events);
            }
        }
        let mut world = World {
            logs,
            strands,
            position,
            messages: BTreeMap::new(),
            values: Values::None,
            without_values: HashSet::new(),
            too_late: HashSet::new(),
        };
        world.messages = world.match_messages();
        world
    }

    fn logged(&self, at: At) -> &'a Logged {
        &self.logs[at.0][at.1]
    }

    fn event(&self, at: At) -> &'a Event {
        &self.logged(at).event
    }

    /// Events of a rank, in the order of its log.
    fn events(&self, rank: usize) -> impl Iterator<Item = (At, &'a Event)> + 'a {
        let logs = self.logs;
        logs[rank].iter().enumerate().map(move |(index, logged)| ((rank, index), &logged.event))
    }

    fn done(&self, state: &[usize], at: At) -> bool {
        let (strand, place) = self.position[&at];
        state[strand] > place
    }

    /// Every state that can be reached.
    fn states(&self) -> HashSet<Vec<usize>> {
        let mut seen = HashSet::new();
        let mut left = vec![vec![0; self.strands.len()]];
        while let Some(state) = left.pop() {
            if !seen.insert(state.clone()) {
                continue;
            }
            for (strand, events) in self.strands.iter().enumerate() {
                let Some(&next) = events.get(state[strand]) else { continue };
                if self.enabled(&state, next) {
                    let mut further = state.clone();
                    further[strand] += 1;
                    left.push(further);
                }
            }
        }
        seen
    }

    /// By access: the accesses that can be under way with it.
    fn together(&self, touches: &[Touch], states: &HashSet<Vec<usize>>, letter: bool) -> Vec<HashSet<usize>> {
        let spans: Vec<Lasting> = touches.iter().map(|touch| self.lasting(touch, states, letter)).collect();
        let mut together = vec![HashSet::new(); touches.len()];
        for state in states {
            let under_way: Vec<usize> = (0..touches.len())
                .filter(|&number| {
                    let lasting = &spans[number];
                    let (strand, place) = self.position[&touches[number].at];
                    if lasting.instant {
                        return state[strand] == place && self.enabled(state, touches[number].at);
                    }
                    state[strand] > place
                        && lasting.opened.is_none_or(|at| self.done(state, at))
                        && !lasting.ends.iter().any(|&end| self.done(state, end))
                })
                .collect();
            for &number in &under_way {
                together[number].extend(under_way.iter().copied());
            }
        }
        together
    }

    /// Whenever `second` has happened, has `first`?
    fn must_precede(&self, states: &HashSet<Vec<usize>>, first: At, second: At) -> bool {
        states.iter().all(|state| !self.done(state, second) || self.done(state, first))
    }
}

/// Shows what the oracle thinks of logs, for a test that fails.
pub fn describe(logs: &Logs) -> String {
    let mut text = String::new();
    for (rank, log) in logs.iter().enumerate() {
        for logged in log {
            let Site(site) = logged.site;
            text += &format!("rank {rank} strand {} site {site}: {:?}\n", logged.strand, logged.event);
        }
    }
    text
}
