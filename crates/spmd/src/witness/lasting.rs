//! Whether an access is under way where the checker stands, and what it touches (R1 to R6, R15 to R18).

use super::check::{Need, World, events};
use super::{At, Party, Side};
use crate::event::{Action, Buffer, Event, Operation, Piece, Place, Through};
use crate::ids::{Context, Rank, Request, Window};
use crate::span::Span;

/// Bytes, and whether they are written.
type Touched = (Span, bool);

impl World<'_> {
    pub(super) fn under_way(&self, party: Party, letter: bool) -> bool {
        let at = party.at;
        match self.event(at) {
            Event::Operation(operation) => match operation.through {
                Through::Context { context, blocking, pair, .. } => {
                    let returns = operation.action.returns();
                    if blocking && (party.side == Side::Near || returns) {
                        return self.is_next(at);
                    }
                    let quiet = |event: &Event| quiets(event, context, letter);
                    let seen = party.side == Side::Far && !returns && self.observed(at, operation, (context, pair));
                    self.is_done(at) && !self.after(at, quiet) && !seen
                }
                Through::Window { window, request } => {
                    self.is_done(at) && self.window_operation(party, operation, window, request, letter)
                }
            },
            Event::Buffer { request: Some(request), .. } => {
                let done = |event: &Event| matches!(event, Event::RequestDone { request: done } if done == request);
                self.is_done(at) && !self.after(at, done)
            }
            _ => self.is_next(at),
        }
    }

    /// Is the entry the next one of its strand, and can it be done?
    fn is_next(&self, at: At) -> bool {
        let strand = self.logs[at.0][at.1].strand;
        let before = self.logs[at.0][..at.1].iter().enumerate();
        let all = before.filter(|(_, logged)| logged.strand == strand).all(|(index, _)| self.is_done((at.0, index)));
        all && !self.is_done(at) && self.enabled(at)
    }

    /// Has an entry of the rank behind this one been done that is like this?
    fn after(&self, at: At, like: impl Fn(&Event) -> bool) -> bool {
        events(self.logs, at.0).skip(at.1 + 1).any(|(end, event)| self.is_done(end) && like(event))
    }

    fn window_operation(
        &self,
        party: Party,
        operation: &Operation,
        window: Window,
        request: Option<Request>,
        letter: bool,
    ) -> bool {
        let (at, target) = (party.at, operation.target);
        let fetches = matches!(operation.action, Action::Fetch(_));
        let local = party.side == Side::Near || operation.action == Action::Get || (fetches && !letter);
        let ends = |event: &Event| match event {
            Event::Fence { window: other, no_precede, .. } => *other == window && !no_precede,
            Event::Unlock { window: other, target: of } => *other == window && *of == target,
            Event::UnlockAll { window: other } => *other == window,
            Event::Flush { window: other, target: of, local: only } => {
                *other == window && of.is_none_or(|of| of == target) && (!only || local)
            }
            Event::Complete { window: other } => *other == window && local,
            Event::RequestDone { request: done } => local && request == Some(*done),
            _ => false,
        };
        if self.after(at, ends) {
            return false;
        }
        if party.side == Side::Near {
            return true;
        }
        let (opened, closed) = self.epoch(at, window, target);
        opened.is_none_or(|opened| self.is_done(opened))
            && (local || !closed.is_some_and(|closed| self.is_done(closed)))
    }

    /// What opens the epoch of an operation at its target, and what closes it there.
    fn epoch(&self, at: At, window: Window, target: Rank) -> (Option<At>, Option<At>) {
        let before = || events(self.logs, at.0).take(at.1);
        let names = |event: &Event, rank: Rank| match event {
            Event::Start { window: other, targets } => *other == window && targets.contains(&rank),
            Event::Post { window: other, origins } => *other == window && origins.contains(&rank),
            _ => false,
        };
        let bounds = |event: &Event| matches!(event, Event::Start { window: w, .. } | Event::Complete { window: w } if *w == window);
        let started = before().filter(|(_, event)| bounds(event)).last().is_some_and(|(_, event)| names(event, target));
        let there = target.0 as usize;
        if started {
            let number = before().filter(|(_, event)| names(event, target)).count();
            let me = Rank(at.0 as u32);
            let post = events(self.logs, there).filter(|(_, event)| names(event, me)).nth(number - 1);
            let Some((post, _)) = post else { return (None, None) };
            let waited = |event: &Event| matches!(event, Event::Waited { window: other } if *other == window);
            let closed = events(self.logs, there).skip(post.1).find(|(_, event)| waited(event)).map(|(at, _)| at);
            return (Some(post), closed);
        }
        if self.locked(at, window, target) {
            return (None, None);
        }
        let fence = |event: &Event| matches!(event, Event::Fence { window: other, .. } if *other == window);
        let number = before().filter(|(_, event)| fence(event)).count();
        let opened = number.checked_sub(1).and_then(|number| {
            events(self.logs, there).filter(|(_, event)| fence(event)).nth(number).map(|(at, _)| at)
        });
        (opened, None)
    }

    /// Did the rank hold a lock on the target when it made the call?
    fn locked(&self, at: At, window: Window, target: Rank) -> bool {
        let (mut one, mut all) = (false, false);
        for (_, event) in events(self.logs, at.0).take(at.1) {
            match event {
                Event::Lock { window: other, target: of, .. } if *other == window && *of == target => one = true,
                Event::Unlock { window: other, target: of } if *other == window && *of == target => one = false,
                Event::LockAll { window: other } if *other == window => all = true,
                Event::UnlockAll { window: other } if *other == window => all = false,
                _ => {}
            }
        }
        one || all
    }

    /// R17: somebody has seen the update, or one behind a fence behind it. Whoever could have is taken to have.
    fn observed(&self, at: At, operation: &Operation, (context, pair): (Context, u32)) -> bool {
        let behind = |flag: At| {
            if flag == at {
                return true;
            }
            let Event::Operation(other) = self.event(flag) else { return false };
            let alike = flag.0 == at.0 && flag.1 > at.1 && other.target == operation.target;
            let ordered = matches!(other.through, Through::Context { context: of, .. } if of == context);
            let signal = matches!(other.through, Through::Context { pair: of, .. } if of == pair && pair != 0);
            let fence = |event: &Event| match event {
                Event::ContextFence { context: of } | Event::Quiet { context: of, .. } => *of == context,
                Event::ClearLock { .. } => context == Context::DEFAULT,
                _ => false,
            };
            let fenced = || events(self.logs, at.0).take(flag.1).skip(at.1).any(|(_, event)| fence(event));
            alike && ordered && (signal || fenced())
        };
        let sees = |(wait, need): (&At, &Need)| match need {
            Need::Any(writers) => self.is_done(*wait) && writers.iter().any(|&writer| behind(writer)),
            Need::All(_) => false,
        };
        self.needs.iter().any(sees)
    }

    /// Do they touch a common byte of one rank, and does one of them write?
    pub(super) fn conflict(&self, parties: &[Party; 2]) -> bool {
        let [a, b] = parties.map(|party| self.touches(party));
        let (Some((owner, mine, writes)), Some((other, theirs, also))) = (a, b) else { return false };
        let meet = || mine.iter().any(|one| theirs.iter().any(|two| one.0.meets(&two.0) && (one.1 || two.1)));
        owner == other && (writes || also) && parties[0].at != parties[1].at && meet()
    }

    /// The owner, the bytes, each with whether they are written, and whether any is.
    fn touches(&self, party: Party) -> Option<(usize, Vec<Touched>, bool)> {
        let me = party.at.0;
        let spans = |owner: usize, place: Place, pieces: &[Piece], writes: bool| -> Option<Vec<Touched>> {
            let base = self.address(owner, place)?;
            Some(
                pieces
                    .iter()
                    .filter(|piece| piece.len > 0 && piece.count > 0)
                    .map(|piece| (span(base, piece), writes))
                    .collect(),
            )
        };
        let whole =
            |len: u64| Piece { offset: 0, len, stride: 0, count: 1, datatype: crate::lower::UNTYPED, element: 1 };
        let (owner, spans) = match self.event(party.at) {
            Event::Local { owner, place, len, write } => {
                let owner = owner.0 as usize;
                (owner, spans(owner, *place, &[whole(u64::from(*len))], *write)?)
            }
            Event::Operation(operation) if party.side == Side::Far => {
                let owner = operation.target.0 as usize;
                (owner, spans(owner, operation.place, &operation.pieces, operation.action.writes())?)
            }
            Event::Operation(operation) => {
                let of = |buffer: &Buffer, writes| spans(me, Place::Address(buffer.address), &buffer.pieces, writes);
                let mut all: Vec<Touched> =
                    operation.reads.iter().filter_map(|buffer| of(buffer, false)).flatten().collect();
                all.extend(operation.writes.iter().filter_map(|buffer| of(buffer, true)).flatten());
                (me, all)
            }
            Event::Buffer { buffer, write, .. } => {
                (me, spans(me, Place::Address(buffer.address), &buffer.pieces, *write)?)
            }
            Event::Gone { place, len } => (me, spans(me, *place, &[whole(*len)], true)?),
            Event::Waiting { place, len, .. } => (me, spans(me, *place, &[whole(u64::from(*len))], false)?),
            _ => return None,
        };
        let writes = spans.iter().any(|(_, writes)| *writes);
        Some((owner, spans, writes))
    }

    fn address(&self, owner: usize, place: Place) -> Option<u64> {
        match place {
            Place::Address(address) => Some(address),
            Place::Window { window, units, bytes } => {
                let made = events(self.logs, owner).find_map(|(_, event)| match event {
                    Event::WindowMade { window: made, base, unit, .. } if *made == window => Some((*base, *unit)),
                    _ => None,
                });
                made.map(|(base, unit)| base.wrapping_add_signed(units * i64::from(unit) + bytes))
            }
        }
    }
}

/// The bytes of a piece; blocks that walk downwards are told from the lowest.
fn span(base: u64, piece: &Piece) -> Span {
    let last = piece.stride * i64::from(piece.count - 1);
    let lowest = base.wrapping_add_signed(piece.offset + last.min(0));
    Span { lo: lowest, len: piece.len, stride: piece.stride.unsigned_abs(), count: piece.count }
}

fn quiets(event: &Event, context: Context, letter: bool) -> bool {
    match event {
        Event::Quiet { context: quiet, barrier } => *quiet == context || (*barrier && !letter),
        Event::ClearLock { .. } => context == Context::DEFAULT,
        _ => false,
    }
}
