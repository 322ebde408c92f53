//! From when until when an access is under way (R1 to R6, R15 to R18).

use std::collections::HashSet;

use super::{At, Touch, World};
use crate::access::Role;
use crate::event::{Action, Event, Through};
use crate::ids::{Context, Rank, Request, Window};

pub(super) struct Lasting {
    /// It happens where it stands.
    pub(super) instant: bool,
    pub(super) opened: Option<At>,
    pub(super) ends: Vec<At>,
}

impl World<'_> {
    pub(super) fn lasting(&self, touch: &Touch, states: &HashSet<Vec<usize>>, letter: bool) -> Lasting {
        let at = touch.at;
        let near = matches!(touch.role, Role::Origin | Role::Result);
        let mut lasting = Lasting { instant: false, opened: None, ends: Vec::new() };
        let later = |like: &dyn Fn(&Event) -> bool| -> Vec<At> {
            self.events(at.0)
                .skip(at.1 + 1)
                .filter(|(_, event)| like(event))
                .map(|(end, _)| end)
                .filter(|&end| self.must_precede(&self.without_values, at, end))
                .collect()
        };
        match self.event(at) {
            Event::Buffer { request: Some(request), .. } => {
                lasting.ends = later(&|event| is_done(event, *request));
            }
            Event::Operation(operation) => match operation.through {
                Through::Context { context, blocking, .. } => {
                    if blocking && (near || operation.action.returns()) {
                        lasting.instant = true;
                    }
                    lasting.ends = later(&|event| quiets(event, context, letter));
                    if !near && !operation.action.returns() {
                        lasting.ends.extend(self.observers(at, states));
                    }
                }
                Through::Window { window, request } => {
                    let target = operation.target;
                    let fetches = matches!(operation.action, Action::Fetch(_));
                    let local_is_enough = near || operation.action == Action::Get || (fetches && !letter);
                    lasting.ends = later(&|event| match event {
                        Event::Fence { window: w, no_precede, .. } => *w == window && !no_precede,
                        Event::Unlock { window: w, target: t } => *w == window && *t == target,
                        Event::UnlockAll { window: w } => *w == window,
                        Event::Flush { window: w, target: t, local } => {
                            *w == window && t.is_none_or(|t| t == target) && (!local || local_is_enough)
                        }
                        Event::Complete { window: w } => *w == window && local_is_enough,
                        Event::RequestDone { request: done } => local_is_enough && request == Some(*done),
                        _ => false,
                    });
                    if !near {
                        let (opened, wait) = self.epoch(at, window, target.0 as usize);
                        lasting.opened = opened;
                        if !local_is_enough {
                            lasting.ends.extend(wait);
                        }
                    }
                }
            },
            _ => lasting.instant = true,
        }
        lasting
    }

    /// What opened the epoch at the target, and the target's wait that closes it.
    pub(super) fn epoch(&self, at: At, window: Window, target: usize) -> (Option<At>, Option<At>) {
        let started = self.last_before(
            at,
            |event| matches!(event, Event::Start { window: w, .. } | Event::Complete { window: w } if *w == window),
        );
        if let Some(start) = started
            && let Event::Start { targets, .. } = self.event(start)
            && targets.contains(&Rank(target as u32))
        {
            let (post, wait) = self.exposure(start, window, target);
            // The wait ends it only once the origin has completed.
            let complete = self
                .events(at.0)
                .skip(at.1)
                .any(|(_, event)| matches!(event, Event::Complete { window: w } if *w == window));
            return (post, wait.filter(|_| complete));
        }
        if self.locked(at, window, target).is_some() {
            return (None, None);
        }
        let fence = |event: &Event| matches!(event, Event::Fence { window: w, .. } if *w == window);
        match self.last_before(at, fence) {
            Some(own) => (self.fence(own, window, target), None),
            None => (None, None),
        }
    }

    /// The kind of lock that the rank holds on the target, by its log.
    pub(super) fn locked(&self, at: At, window: Window, target: usize) -> Option<bool> {
        let (mut one, mut all) = (None, false);
        for (_, event) in self.events(at.0).take(at.1) {
            match event {
                Event::Lock { window: w, target: t, exclusive } if *w == window && t.0 as usize == target => {
                    one = Some(*exclusive);
                }
                Event::Unlock { window: w, target: t } if *w == window && t.0 as usize == target => one = None,
                Event::LockAll { window: w } if *w == window => all = true,
                Event::UnlockAll { window: w } if *w == window => all = false,
                _ => {}
            }
        }
        one.or(all.then_some(false))
    }

    /// R17: waits that saw this operation, or one behind a fence behind it.
    pub(super) fn observers(&self, at: At, states: &HashSet<Vec<usize>>) -> Vec<At> {
        let mut observers = Vec::new();
        for rank in 0..self.logs.len() {
            for (wait, event) in self.events(rank) {
                if !matches!(event, Event::Waiting { .. } | Event::Returned { .. }) {
                    continue;
                }
                let seen = |flag: At| flag == at || self.fenced_between(at, flag, states);
                if self.writers(wait).into_iter().any(seen) {
                    observers.push(wait);
                }
            }
        }
        observers
    }

    /// R16: a fence or quiet of the context between two operations of one rank on one target. R17: a put and its
    /// signal.
    pub(super) fn fenced_between(&self, first: At, second: At, states: &HashSet<Vec<usize>>) -> bool {
        let (Event::Operation(one), Event::Operation(two)) = (self.event(first), self.event(second)) else {
            return false;
        };
        let (Through::Context { context, pair, .. }, Through::Context { context: other, pair: second_pair, .. }) =
            (one.through, two.through)
        else {
            return false;
        };
        let signalled = pair != 0 && pair == second_pair;
        let fence = |event: &Event| match event {
            Event::ContextFence { context: fenced } => *fenced == context,
            Event::ClearLock { .. } => context == Context::DEFAULT,
            Event::Quiet { context: quiet, .. } => *quiet == context,
            _ => false,
        };
        first.0 == second.0
            && context == other
            && one.target == two.target
            && !one.action.returns()
            && !two.action.returns()
            && first.1 < second.1
            && self.must_precede(states, first, second)
            && (signalled || self.events(first.0).take(second.1).skip(first.1).any(|(_, event)| fence(event)))
    }

    pub(super) fn fenced(&self, a: &Touch, b: &Touch, states: &HashSet<Vec<usize>>) -> bool {
        let near = |touch: &Touch| matches!(touch.role, Role::Origin | Role::Result);
        !near(a) && !near(b) && (self.fenced_between(a.at, b.at, states) || self.fenced_between(b.at, a.at, states))
    }
}

fn is_done(event: &Event, request: Request) -> bool {
    matches!(event, Event::RequestDone { request: done } if *done == request)
}

fn quiets(event: &Event, wanted: Context, letter: bool) -> bool {
    match event {
        Event::Quiet { context, barrier } => *context == wanted || (*barrier && !letter),
        Event::ClearLock { .. } => wanted == Context::DEFAULT,
        _ => false,
    }
}
