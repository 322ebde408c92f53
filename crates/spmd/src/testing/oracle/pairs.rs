//! Locks and atomicity (R7 to R10, R18, R19).

use std::collections::HashSet;

use super::{Level, Touch, World};
use crate::access::Role;
use crate::event::{Event, Logged, Operator, Through};
use crate::ids::{Context, Rank, Window};

impl World<'_> {
    /// R7, R19, mutexes.
    pub(super) fn excluded(&self, a: &Touch, b: &Touch, states: &HashSet<Vec<usize>>) -> bool {
        let other_rank = a.at.0 != b.at.0;
        let other_strand = other_rank || self.logged(a.at).strand != self.logged(b.at).strand;
        let (mine, theirs) = (self.locks(a, states), self.locks(b, states));
        mine.iter().any(|(lock, exclusive)| {
            let apart = if lock.0 == "mutex" { other_strand } else { other_rank };
            apart && theirs.iter().any(|(other, too)| lock == other && (*exclusive || *too))
        })
    }

    /// Locks that protect an access while it lasts: (what, which, whose) and whether exclusively.
    pub(super) fn locks(&self, touch: &Touch, states: &HashSet<Vec<usize>>) -> Vec<((&'static str, u64, u64), bool)> {
        let at = touch.at;
        let lasting = self.lasting(touch, states, true);
        // Over by this event of the own rank's log?
        let over_by = |index: usize| lasting.instant || lasting.ends.iter().any(|end| end.0 == at.0 && end.1 <= index);
        let kept = |release: &dyn Fn(&Logged) -> bool| {
            let released = self.logs[at.0].iter().enumerate().skip(at.1 + 1).find(|(_, logged)| release(logged));
            released.is_none_or(|(index, _)| over_by(index))
        };
        let mut locks = Vec::new();
        for (number, logged) in self.logs[at.0].iter().enumerate().take(at.1) {
            match logged.event {
                Event::SetLock { word } => {
                    let clears = |logged: &Logged| logged.event == Event::ClearLock { word };
                    let open = !self.logs[at.0][number + 1..at.1].iter().any(clears);
                    if open && kept(&clears) {
                        locks.push((("word", word, 0), true));
                    }
                }
                Event::MutexLock { mutex } if logged.strand == self.logged(at).strand => {
                    let strand = logged.strand;
                    let unlocks =
                        |logged: &Logged| logged.strand == strand && logged.event == Event::MutexUnlock { mutex };
                    let open = !self.logs[at.0][number + 1..at.1].iter().any(unlocks);
                    if open && kept(&unlocks) {
                        locks.push((("mutex", mutex.0, at.0 as u64), true));
                    }
                }
                _ => {}
            }
        }
        let own_memory = matches!(touch.role, Role::Load | Role::Store) && touch.owner == at.0;
        let mut windows: Vec<Window> = Vec::new();
        match self.event(at) {
            Event::Operation(operation) if !matches!(touch.role, Role::Origin | Role::Result) => {
                if let Through::Window { window, .. } = operation.through {
                    windows.push(window);
                }
            }
            _ if own_memory => windows.extend(self.events(at.0).filter_map(|(_, event)| match event {
                Event::WindowMade { window, .. } => Some(*window),
                _ => None,
            })),
            _ => {}
        }
        for window in windows {
            let Some(exclusive) = self.locked(at, window, touch.owner) else { continue };
            let target = Rank(touch.owner as u32);
            let unlocks = |logged: &Logged| match logged.event {
                Event::Unlock { window: w, target: t } => w == window && t == target,
                Event::UnlockAll { window: w } => w == window,
                _ => false,
            };
            if kept(&unlocks) {
                locks.push((("window", u64::from(window.0), touch.owner as u64), exclusive));
            }
        }
        locks
    }

    /// R8 to R10, R18. `None`: they do not mind.
    pub(super) fn atomicity(&self, a: &Touch, b: &Touch) -> Option<Level> {
        let roles = [a.role, b.role];
        if roles.contains(&Role::Wait) && roles.contains(&Role::Put) {
            return Some(Level::Potential);
        }
        let describe = |touch: &Touch| match (self.event(touch.at), touch.role) {
            (Event::Operation(operation), Role::Accumulate | Role::Fetch) => {
                Some((operation.through, operation.action.operator()?))
            }
            (Event::Waiting { .. }, _) => {
                let through = Through::Context { context: Context::DEFAULT, blocking: true, domain: 0, pair: 0 };
                Some((through, Operator::NoOp))
            }
            _ => None,
        };
        let (Some((through, operator)), Some((other_through, other))) = (describe(a), describe(b)) else {
            return Some(Level::Race);
        };
        let (piece, other_piece) = (a.piece?, b.piece?);
        if piece.datatype != other_piece.datatype || piece.element != other_piece.element {
            return Some(Level::Race);
        }
        // Every element that meets another must be the same element.
        let elements = |touch: &Touch, size: u64| -> Vec<u64> {
            touch.bytes.iter().flat_map(|&(lo, hi)| (0..(hi - lo) / size).map(move |n| lo + n * size)).collect()
        };
        let size = u64::from(piece.element);
        let crooked =
            elements(a, size).iter().any(|x| elements(b, size).iter().any(|y| x != y && x.abs_diff(*y) < size));
        if crooked {
            return Some(Level::Race);
        }
        match (through, other_through) {
            (Through::Window { window, .. }, Through::Window { window: second, .. }) if window == second => {
                let (ordered, same_only) = self.promises(a.at.0, window);
                if a.at.0 == b.at.0 && ordered {
                    return None;
                }
                let simple = [Operator::Replace, Operator::NoOp, Operator::CompareAndSwap];
                let mixable = operator == Operator::NoOp
                    || other == Operator::NoOp
                    || (simple.contains(&operator) && simple.contains(&other));
                if operator == other || (mixable && !same_only) { None } else { Some(Level::Potential) }
            }
            (Through::Context { domain, .. }, Through::Context { domain: second, .. }) => {
                if domain == second || roles.contains(&Role::Wait) { None } else { Some(Level::Race) }
            }
            _ => Some(Level::Race),
        }
    }

    pub(super) fn promises(&self, rank: usize, window: Window) -> (bool, bool) {
        self.events(rank)
            .find_map(|(_, event)| match event {
                Event::WindowMade { window: made, accumulates, .. } if *made == window => {
                    Some((accumulates.ordered, accumulates.same_operator))
                }
                _ => None,
            })
            .unwrap_or((true, false))
    }
}
