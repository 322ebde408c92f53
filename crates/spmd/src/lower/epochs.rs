//! Windows: their epochs, locks, and what completes the operations on them (R3 to R7).

use std::collections::HashMap;

use crate::access::{Held, LockName, OwnersEvent};
use crate::event::{Accumulates, Event};
use crate::ids::{Moment, Rank, Window};
use crate::order::{Channel, Sync};

use super::{Lowering, Part};

pub(super) struct WindowState {
    pub(super) part: Part,
    pub(super) accumulates: Accumulates,
    /// Fences that were entered.
    fences: u32,
    /// The access epoch that [`Event::Start`] opened: targets, each with the number of its epoch.
    started: Vec<(Rank, u32)>,
    /// The exposure epoch: origins, each with the number of its epoch.
    posted: Vec<(Rank, u32)>,
    starts: HashMap<Rank, u32>,
    posts: HashMap<Rank, u32>,
}

impl WindowState {
    fn new(part: Part, accumulates: Accumulates) -> WindowState {
        WindowState {
            part,
            accumulates,
            fences: 0,
            started: Vec::new(),
            posted: Vec::new(),
            starts: HashMap::new(),
            posts: HashMap::new(),
        }
    }
}

/// The next number for each of these ranks.
fn numbered(ranks: &[Rank], counts: &mut HashMap<Rank, u32>) -> Vec<(Rank, u32)> {
    ranks
        .iter()
        .map(|&rank| {
            let count = counts.entry(rank).or_default();
            *count += 1;
            (rank, *count)
        })
        .collect()
}

impl Lowering {
    /// Events on windows.
    pub(super) fn window(&mut self, moment: Moment, event: &Event) {
        match event {
            Event::WindowMade { window, base, unit, accumulates } => {
                let part = Part { base: *base, unit: *unit };
                self.windows.insert(*window, WindowState::new(part, *accumulates));
            }
            Event::Fence { window, no_precede, members } => self.fence(moment, *window, *no_precede, *members),
            Event::FenceDone { window } => self.fence_done(moment, *window),
            Event::Post { window, origins } => {
                let Some(state) = self.windows.get_mut(window) else { return };
                state.posted = numbered(origins, &mut state.posts);
                for &(origin, number) in &state.posted {
                    self.out.owned.insert(OwnersEvent::Post(*window, origin, number), moment);
                }
            }
            Event::Start { window, targets } => {
                let Some(state) = self.windows.get_mut(window) else { return };
                state.started = numbered(targets, &mut state.starts);
            }
            Event::Complete { window } => {
                let Some(state) = self.windows.get_mut(window) else { return };
                let started = std::mem::take(&mut state.started);
                self.complete_epoch(moment, *window, &started);
                let brings = (started.iter()).map(|&(target, number)| Channel::Completed {
                    window: *window,
                    origin: self.rank,
                    target,
                    number,
                });
                self.out.syncs.push(Sync { moment, brings: brings.collect(), awaits: Vec::new(), voids: None });
            }
            Event::Waited { window } => {
                let Some(state) = self.windows.get_mut(window) else { return };
                let mut awaits = Vec::new();
                for (origin, number) in std::mem::take(&mut state.posted) {
                    self.out.owned.insert(OwnersEvent::Waited(*window, origin, number), moment);
                    awaits.push((Channel::Completed { window: *window, origin, target: self.rank, number }, 1));
                }
                self.out.syncs.push(Sync { moment, brings: Vec::new(), awaits, voids: None });
            }
            Event::Lock { window, target, exclusive } => {
                self.held.insert((*window, Some(*target)), *exclusive);
            }
            Event::LockAll { window } => {
                self.held.insert((*window, None), false);
            }
            Event::Unlock { window, target } => {
                self.complete(moment, true, true, |open| open.window == Some(*window) && open.target == Some(*target));
                self.held.remove(&(*window, Some(*target)));
                self.lost(LockName::Window(*window, *target), None);
            }
            Event::UnlockAll { window } => {
                self.complete(moment, true, true, |open| open.window == Some(*window));
                self.held.remove(&(*window, None));
                self.lost_window(*window);
            }
            Event::Flush { window, target, local } => {
                self.complete(moment, true, !local, |open| {
                    open.window == Some(*window) && (target.is_none() || open.target == *target)
                });
            }
            _ => {}
        }
    }

    fn fence(&mut self, moment: Moment, window: Window, no_precede: bool, members: u32) {
        let Some(state) = self.windows.get_mut(&window) else { return };
        state.fences += 1;
        let number = state.fences;
        let channel = Channel::Fence(window, number);
        self.out.owned.insert(OwnersEvent::Fence(window, number), moment);
        self.messages.fence_members.insert(window, members);
        let voids = no_precede.then_some(channel);
        self.out.syncs.push(Sync { moment, brings: vec![channel], awaits: Vec::new(), voids });
        if !no_precede {
            self.complete(moment, true, true, |open| open.window == Some(window));
        }
    }

    fn fence_done(&mut self, moment: Moment, window: Window) {
        let Some(state) = self.windows.get(&window) else { return };
        let members = self.messages.fence_members.get(&window).copied().unwrap_or(1);
        let awaits = vec![(Channel::Fence(window, state.fences), members)];
        self.out.syncs.push(Sync { moment, brings: Vec::new(), awaits, voids: None });
    }

    /// What the target does before an operation on it can take effect (R3, R4).
    pub(super) fn opening(&self, window: Window, target: Rank) -> Option<OwnersEvent> {
        let state = self.windows.get(&window)?;
        if let Some(&(_, number)) = state.started.iter().find(|(started, _)| *started == target) {
            return Some(OwnersEvent::Post(window, self.rank, number));
        }
        let locked = self.held.contains_key(&(window, Some(target))) || self.held.contains_key(&(window, None));
        (!locked && state.fences > 0).then_some(OwnersEvent::Fence(window, state.fences))
    }

    /// The locks on windows that protect accesses to this rank's memory (R7): of the window that the
    /// access goes through, or of all windows for loads and stores of the rank's own memory.
    pub(super) fn window_locks_at(&self, owner: Rank, through: Option<Window>) -> Vec<Held> {
        if through.is_none() && owner != self.rank {
            return Vec::new();
        }
        (self.held.iter())
            .filter(|((window, target), _)| {
                target.is_none_or(|target| target == owner) && through.is_none_or(|through| through == *window)
            })
            .map(|((window, _), exclusive)| Held { lock: LockName::Window(*window, owner), exclusive: *exclusive })
            .collect()
    }
}
