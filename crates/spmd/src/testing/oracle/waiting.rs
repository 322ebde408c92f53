//! Which event can happen in which state: what calls wait for (R3, R4, R13, R14, R17).

use std::collections::BTreeMap;

use super::{At, Values, World};
use crate::event::{Collective, Comparison, Event, Flow, Operator};
use crate::ids::{Rank, Window};

impl World<'_> {
    /// Received event -> send event, for the whole run: k-th send, k-th posted receive.
    pub(super) fn match_messages(&self) -> BTreeMap<At, At> {
        let mut matches = BTreeMap::new();
        for to in 0..self.logs.len() {
            let mut receives: Vec<(At, At, u64, usize, i32)> = Vec::new();
            for (posted, event) in self.events(to) {
                let Event::Posted { communicator, request, .. } = event else { continue };
                let got = self.events(to).find_map(|(at, event)| match event {
                    Event::Received { request: done, from, tag } if done == request && at.1 > posted.1 => {
                        Some((at, from.0 as usize, *tag))
                    }
                    _ => None,
                });
                if let Some((at, from, tag)) = got {
                    receives.push((posted, at, communicator.0, from, tag));
                }
            }
            for (number, receive) in receives.iter().enumerate() {
                let kind = (receive.2, receive.3, receive.4);
                let earlier = receives[..number].iter().filter(|other| (other.2, other.3, other.4) == kind).count();
                let send = self
                    .events(receive.3)
                    .filter(|(_, event)| {
                        matches!(event, Event::Send { communicator, to: target, tag, .. }
                            if communicator.0 == kind.0 && target.0 as usize == to && *tag == kind.2)
                    })
                    .nth(earlier);
                if let Some((send, _)) = send {
                    matches.insert(receive.1, send);
                }
            }
        }
        matches
    }

    /// The number of events before `at` in its rank's log that are like it, itself included.
    pub(super) fn ordinal(&self, at: At, like: impl Fn(&Event) -> bool) -> usize {
        self.events(at.0).take(at.1 + 1).filter(|(_, event)| like(event)).count()
    }

    pub(super) fn nth(&self, rank: usize, number: usize, like: impl Fn(&Event) -> bool) -> Option<At> {
        self.events(rank).filter(|(_, event)| like(event)).nth(number.checked_sub(1)?).map(|(at, _)| at)
    }

    /// The fence that a rank entered together with this one (an entering or a leaving).
    pub(super) fn fence(&self, at: At, window: Window, rank: usize) -> Option<At> {
        let like = |event: &Event| matches!(event, Event::Fence { window: other, .. } if *other == window);
        self.nth(rank, self.ordinal(at, like), like)
    }

    pub(super) fn enters(&self, rank: usize, wanted: Collective) -> Option<At> {
        self.nth(rank, 1, |event| matches!(event, Event::Enter { collective, .. } if *collective == wanted))
    }

    /// Can the event happen in this state, its strand having come to it?
    pub(super) fn enabled(&self, state: &[usize], at: At) -> bool {
        let rank = at.0;
        let done = |wanted: Option<At>| wanted.is_some_and(|wanted| self.done(state, wanted));
        match self.event(at) {
            Event::FenceDone { window } => {
                let fences: Vec<At> = (0..self.logs.len()).filter_map(|other| self.fence(at, *window, other)).collect();
                let void = |at: &At| matches!(self.event(*at), Event::Fence { no_precede: true, .. });
                fences.iter().any(void) || fences.iter().all(|&fence| self.done(state, fence))
            }
            Event::Waited { window } => {
                let post = self.last_before(at, |event| matches!(event, Event::Post { window: w, .. } if w == window));
                let Some(post) = post else { return true };
                let Event::Post { origins, .. } = self.event(post) else { return true };
                origins.iter().all(|origin| done(self.completion_of(post, *window, origin.0 as usize)))
            }
            Event::Received { .. } => done(self.messages.get(&at).copied()),
            Event::Taken { request } => {
                let send = self.last_before(
                    at,
                    |event| matches!(event, Event::Send { synchronous: Some(sent), .. } if sent == request),
                );
                let received = self.messages.iter().find(|(_, from)| Some(**from) == send);
                let Some((received, _)) = received else { return true };
                let Event::Received { request, .. } = self.event(*received) else { return true };
                done(self.last_before(
                    *received,
                    |event| matches!(event, Event::Posted { request: posted, .. } if posted == request),
                ))
            }
            Event::Exit { collective } => self.may_leave(state, rank, *collective),
            Event::Acquire { object } => self.events(rank).take(at.1).all(|(other, event)| {
                !matches!(event, Event::Release { object: released } if released == object) || self.done(state, other)
            }),
            Event::Waiting { .. } | Event::Returned { .. } => {
                self.writers(at).iter().all(|&writer| self.done(state, writer))
            }
            _ => true,
        }
    }

    pub(super) fn last_before(&self, at: At, like: impl Fn(&Event) -> bool) -> Option<At> {
        self.events(at.0).take(at.1).filter(|(_, event)| like(event)).last().map(|(at, _)| at)
    }

    pub(super) fn may_leave(&self, state: &[usize], rank: usize, collective: Collective) -> bool {
        let entered = |other: usize| self.enters(other, collective).is_some_and(|at| self.done(state, at));
        let contributes = |other: usize| {
            let enter = self.enters(other, collective).map(|at| self.event(at));
            matches!(enter, Some(Event::Enter { contributes: true, .. }))
        };
        let Some(own) = self.enters(rank, collective) else { return true };
        let Event::Enter { flow, .. } = self.event(own) else { return true };
        match flow {
            Flow::All { .. } => (0..self.logs.len()).all(|other| !contributes(other) || entered(other)),
            Flow::FromRoot { root } => entered(root.0 as usize),
            Flow::ToRoot { root, .. } => {
                rank != root.0 as usize || (0..self.logs.len()).all(|other| !contributes(other) || entered(other))
            }
            Flow::Prefix { before } => before.iter().all(|other| entered(other.0 as usize)),
            Flow::Pairs { from, .. } => from.iter().all(|other| entered(other.0 as usize)),
        }
    }

    /// `MPI_Win_complete` of the origin that belongs to the target's post.
    pub(super) fn completion_of(&self, post: At, window: Window, origin: usize) -> Option<At> {
        let target = Rank(post.0 as u32);
        let to_origin = |event: &Event| matches!(event, Event::Post { window: w, origins } if *w == window && origins.contains(&Rank(origin as u32)));
        let to_target = |event: &Event| matches!(event, Event::Start { window: w, targets } if *w == window && targets.contains(&target));
        let start = self.nth(origin, self.ordinal(post, to_origin), to_target)?;
        self.events(origin)
            .skip(start.1)
            .find(|(_, event)| matches!(event, Event::Complete { window: w } if *w == window))
            .map(|(at, _)| at)
    }

    /// The target's post and wait for the epoch that an origin's start opened.
    pub(super) fn exposure(&self, start: At, window: Window, target: usize) -> (Option<At>, Option<At>) {
        let origin = Rank(start.0 as u32);
        let to_target = |event: &Event| matches!(event, Event::Start { window: w, targets } if *w == window && targets.contains(&Rank(target as u32)));
        let to_origin = |event: &Event| matches!(event, Event::Post { window: w, origins } if *w == window && origins.contains(&origin));
        let post = self.nth(target, self.ordinal(start, to_target), to_origin);
        let wait = post.and_then(|post| {
            self.events(target)
                .skip(post.1)
                .find(|(_, event)| matches!(event, Event::Waited { window: w } if *w == window))
                .map(|(at, _)| at)
        });
        (post, wait)
    }

    pub(super) fn find_too_late(&mut self) {
        let states = self.states();
        let all = |like: &dyn Fn(&Event) -> bool| -> Vec<At> {
            let ranks = 0..self.logs.len();
            ranks.flat_map(|rank| self.events(rank)).filter(|(_, event)| like(event)).map(|(at, _)| at).collect()
        };
        let reads = all(&|event| matches!(event, Event::Waiting { .. } | Event::Returned { .. }));
        let writes = all(&|event| matches!(event, Event::Operation(_)));
        let pairs = reads.iter().flat_map(|&read| writes.iter().map(move |&write| (read, write)));
        self.too_late = pairs.filter(|&(read, write)| self.must_precede(&states, read, write)).collect();
        self.without_values = states;
    }

    /// Writes that a wait or read must come behind.
    pub(super) fn writers(&self, at: At) -> Vec<At> {
        if self.values == Values::None {
            return Vec::new();
        }
        let (owner, place) = match self.event(at) {
            Event::Waiting { initially: true, .. } => return Vec::new(),
            Event::Waiting { place, .. } => (at.0, *place),
            Event::Returned { owner, place, .. } => (owner.0 as usize, *place),
            _ => return Vec::new(),
        };
        let mut writes: Vec<(At, Option<u64>)> = Vec::new();
        for rank in 0..self.logs.len() {
            for (write, event) in self.events(rank) {
                let Event::Operation(operation) = event else { continue };
                let Some(value) = operation.value else { continue };
                let there = operation.target.0 as usize == owner && operation.place == place;
                if !there || !operation.action.writes() || self.too_late.contains(&(at, write)) {
                    continue;
                }
                let known = match operation.action.operator() {
                    None | Some(Operator::Replace) => Some(value),
                    Some(_) => None,
                };
                writes.push((write, known));
            }
        }
        match self.event(at) {
            Event::Waiting { comparison, wanted, .. } => {
                let holds = |value: u64| match comparison {
                    Comparison::Equal => value as i64 == *wanted,
                    Comparison::NotEqual => value as i64 != *wanted,
                    Comparison::Greater => value as i64 > *wanted,
                    Comparison::LessOrEqual => value as i64 <= *wanted,
                    Comparison::Less => (value as i64) < *wanted,
                    Comparison::GreaterOrEqual => value as i64 >= *wanted,
                };
                let satisfies = |(write, value): &(At, Option<u64>)| write.0 != at.0 && value.is_none_or(holds);
                writes.into_iter().filter(satisfies).map(|(write, _)| write).collect()
            }
            Event::Returned { value, .. } => {
                writes.retain(|(_, known)| known.is_none_or(|known| known == *value));
                let certain = writes.len() == 1 && writes[0].1.is_some() && *value != 0;
                if !certain && self.values != Values::Possible {
                    return Vec::new();
                }
                let strand = |at: At| (at.0, self.logged(at).strand);
                writes.into_iter().map(|(write, _)| write).filter(|&write| strand(write) != strand(at)).collect()
            }
            _ => Vec::new(),
        }
    }
}
