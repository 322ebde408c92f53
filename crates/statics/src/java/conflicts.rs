//! Pairs of accesses to one location whose order differs between executions, and which of them matter to a read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::accesses::{Access, Accesses, Location};
use super::barriers::Barriers;
use super::channels::Channels;
use super::classes::FieldId;
use super::code::{Block, Constant, Def, Place, Value};
use super::exceptions::Exceptions;
use super::models::Word;
use super::monitors::Monitors;
use super::owned::{Owned, Token};
use super::races::Races;
use super::signals::Signals;
use super::slices::Slices;
use super::solve::{Birth, FrameId, OPAQUE, Point, Solver, ThreadId, known};
use super::threads::{Interrupts, Threads};
use crate::bits::Bits;

/// Index into [`Accesses::all`].
pub type AccessId = usize;

pub struct Conflicts {
    /// At least one of each pair writes; one may conflict with itself.
    pub pairs: BTreeMap<Location, Vec<(AccessId, AccessId)>>,
}

/// Beyond so many accesses to one location all of them are said to conflict if any two threads meet there.
const MOST: usize = 2_000;

impl Conflicts {
    pub fn new(slices: &Slices<'_, '_>, signals: &Signals, barriers: &Barriers) -> Self {
        let mut pairs = BTreeMap::new();
        let &Slices { solver, threads, accesses, owned, .. } = slices;
        let interrupted = Interrupts::new(solver);
        let channels = Channels::new(solver, threads, accesses, &interrupted);
        let meet = Meet { solver, threads, owned, signals, barriers, slices, accesses, interrupted, channels };
        for (location, all) in &accesses.by_location {
            let (mut found, count) = (Vec::new(), all.len());
            for (at, one) in all.iter().enumerate() {
                for other in &all[at..] {
                    let (a, b) = (&accesses.all[*one], &accesses.all[*other]);
                    if (a.writes || b.writes) && (count > MOST && a.at != b.at || meet.conflict(a, b)) {
                        found.push((*one, *other));
                    }
                }
                let late = solver.deadline.is_some_and(|deadline| Instant::now() > deadline);
                if found.len() > MOST * 4 || late {
                    rest(accesses, all, &mut found);
                    break;
                }
            }
            if !found.is_empty() {
                pairs.insert(*location, found);
            }
        }
        Self { pairs }
    }
}

/// Too many pairs: everything that has none is said to conflict with a write.
fn rest(accesses: &Accesses, all: &[AccessId], found: &mut Vec<(AccessId, AccessId)>) {
    let known: BTreeSet<AccessId> = found.iter().flat_map(|(one, other)| [*one, *other]).collect();
    let Some(write) = all.iter().copied().find(|id| accesses.all[*id].writes) else { return };
    found.extend(all.iter().filter(|id| !known.contains(id)).map(|id| (write, *id)));
}

struct Meet<'s, 'a> {
    solver: &'s Solver<'a>,
    threads: &'s Threads,
    owned: &'s Owned,
    signals: &'s Signals,
    barriers: &'s Barriers,
    slices: &'s Slices<'s, 'a>,
    accesses: &'s Accesses,
    interrupted: Interrupts,
    channels: Channels,
}

impl Meet<'_, '_> {
    fn conflict(&self, one: &Access, other: &Access) -> bool {
        let is_local = |field| self.solver.local_fields.values().any(|local| *local == field);
        let local = matches!(one.location, Location::Field(_, field) if is_local(field));
        !local
            && !one.initialises
            && !other.initialises
            && self.threads.parallel(self.solver, one.at, other.at)
            && !self.channels.order(self.solver, one, other)
            && !self.signals.order(one.at, other.at)
            && !self.barriers.order(self.solver, one.at, other.at)
            && !self.is_joined(one, other)
            && !self.is_joined(other, one)
            && !self.are_apart(one, other)
            && !self.slices.are_apart(one, other)
            && !self.slices.are_of_one(one.at, other.at)
    }

    /// What a thread does to its own object, or to what only that holds, comes before what is done to it after `join` of
    /// this very object: `t.join(); sum += t.part`.
    fn is_joined(&self, own: &Access, reader: &Access) -> bool {
        let check = || -> Option<bool> {
            let (thread, frame) = (self.solver.frames[own.at.frame.index()].thread, reader.at.frame);
            let object = self.owned.own_of(thread)?;
            let started = self.solver.threads[thread.index()].birth == Birth::Started(object);
            (started && !self.interrupted.may(self.solver.frames[frame.index()].thread)).then_some(())?;
            let body = &self.solver.frames[frame.index()].body;
            let base = match self.owned.token(own.at.frame, own.base?) {
                Token::Own => body.code.plain(reader.base?),
                Token::Field(field) => self.holder(thread, field, (frame, reader.base?))?,
                _ => return None,
            };
            (self.solver.objects_of(frame, base) == [object]).then_some(())?;
            let mut starts = self.solver.threads[thread.index()].starts.iter();
            let is_new = |frame: FrameId, value: Value| {
                let code = &self.solver.frames[frame.index()].body.code;
                matches!(code.def(code.plain(value)), Def::New(_))
            };
            // Who starts what it made itself does not start what is made here.
            let starts_own = |start: &Point| {
                let receiver = self.solver.call_at(*start).and_then(|call| call.arguments.first());
                start.frame != frame
                    && is_new(frame, base)
                    && receiver.is_some_and(|receiver| is_new(start.frame, *receiver))
            };
            let is_before = |start: &Point, join: Point| {
                starts_own(start)
                    || start.frame == frame
                        && (start.block != join.block && !body.graph.leads_to(join.block, start.block)
                            || start.index < join.index
                                && start.block == join.block
                                && !body.graph.in_loop[join.block as usize]
                            || self.starts(*start, base)
                                && body.graph.comes_first((start.block, start.index), (join.block, join.index)))
            };
            // An exception before it is over must not lead to the read.
            let goes_on = |join: Point| {
                let handlers = body.code.blocks[join.block as usize].caught_by();
                let mut others = handlers.filter(|to| !body.code.for_interrupts.contains(to));
                others.any(|to| to == reader.at.block || body.graph.leads_to(to, reader.at.block))
            };
            let is_over = |join: Point| {
                !goes_on(join)
                    && body.graph.comes_first((join.block, join.index), (reader.at.block, reader.at.index))
                    && !self.threads.is_repeated(frame)
                    && starts.all(|start| is_before(start, join))
            };
            Some(self.joins(frame, base).is_some_and(is_over))
        };
        check() == Some(true)
    }

    /// The thread whose field, which does not change and is another object in every instance, a value was loaded from.
    fn holder(&self, thread: ThreadId, field: FieldId, (frame, value): (FrameId, Value)) -> Option<Value> {
        self.owned.is_distinct(thread, field).then_some(())?;
        let code = &self.solver.frames[frame.index()].body.code;
        let Def::Load(Place::Field(of, member)) = code.def(code.plain(value)) else { return None };
        (self.solver.classes.known_field(*member) == Some(field)).then(|| code.plain(*of))
    }

    fn starts(&self, at: Point, thread: Value) -> bool {
        let receiver = self.solver.call_at(at).and_then(|call| call.arguments.first().copied());
        receiver.is_some_and(|receiver| {
            let receiver = self.solver.code(at).plain(receiver);
            receiver == thread || self.is_same_element(at.frame, receiver, thread)
        })
    }

    /// Loaded twice from one place of an array, in one turn of a loop that puts nothing there.
    fn is_same_element(&self, frame: FrameId, one: Value, other: Value) -> bool {
        let body = &self.solver.frames[frame.index()].body;
        let (Def::Load(Place::Element(a, i)), Def::Load(Place::Element(b, j))) =
            (body.code.def(one), body.code.def(other))
        else {
            return false;
        };
        let block = |value: Value| body.code.values[value.index()].block;
        let (array, index) = (body.code.plain(*a), body.code.plain(*i));
        if array != body.code.plain(*b)
            || index != body.code.plain(*j)
            || !body.graph.same_loop(block(one), block(other))
        {
            return false;
        }
        let arrays = self.solver.refers(frame, array);
        let leads = |from: Block, to: Block| from == to || body.graph.leads_to(from, to);
        !self.accesses.unknown_objects.iter().any(|object| arrays.contains(object))
            && !arrays.contains(OPAQUE.index())
            && self.accesses.all.iter().filter(|access| access.writes).all(|write| {
                let hit = matches!(write.location, Location::Field(object, field)
                    if field == self.solver.element && arrays.contains(object.index()));
                let elsewhere = write.at.frame == frame
                    && !write.library
                    && (!leads(block(one), write.at.block) || !leads(write.at.block, block(other)))
                    && (!leads(block(other), write.at.block) || !leads(write.at.block, block(one)));
                !hit || elsewhere
            })
    }

    /// Where a frame waits for a thread without a limit; the first such place.
    fn joins(&self, frame: FrameId, thread: Value) -> Option<Point> {
        let waits = |at: &Point| {
            self.starts(*at, thread)
                && self.solver.waits_for_good(*at)
                && known(&self.solver.used[at]).all(|one| one.model.has(Word::Join))
        };
        let from = Point { frame, block: 0, index: 0 };
        let to = Point { frame: FrameId(frame.0 + 1), ..from };
        self.solver.used.range(from..to).map(|(at, _)| *at).find(waits)
    }

    /// Never the same place, whatever the instances.
    fn are_apart(&self, one: &Access, other: &Access) -> bool {
        let constant = |access: &Access, index: Value| match self.solver.code(access.at).constant(index) {
            Some(Constant::Whole(index)) => Some(index),
            _ => None,
        };
        if let (Some(a), Some(b)) = (one.index, other.index)
            && let (Some(a), Some(b)) = (constant(one, a), constant(other, b))
            && a != b
        {
            return true;
        }
        let (a, b) = (&self.solver.frames[one.at.frame.index()], &self.solver.frames[other.at.frame.index()]);
        if a.thread != b.thread {
            return false;
        }
        let own = |access: &Access, value: Option<Value>| {
            value.is_some_and(|value| self.owned.is_own(self.solver, access.at.frame, value))
        };
        let same_token = |a: Option<Value>, b: Option<Value>| match (a, b) {
            (Some(a), Some(b)) => {
                self.owned.token(one.at.frame, a) == self.owned.token(other.at.frame, b)
                    || self.owned.is_confined(self.solver, one.at.frame, a)
                        && self.owned.is_confined(self.solver, other.at.frame, b)
            }
            _ => false,
        };
        let by_base = own(one, one.base) && own(other, other.base) && same_token(one.base, other.base);
        let by_index = own(one, one.index) && own(other, other.index) && same_token(one.index, other.index);
        by_base || by_index
    }
}

/// Loads and stores that are updates whose order does not matter: see [`super::updates`].
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct OrderFree {
    pub locations: BTreeSet<Location>,
    pub accesses: BTreeSet<AccessId>,
}

/// Everything that says whether a read has a choice.
pub struct Choices<'s, 'a> {
    pub solver: &'s Solver<'a>,
    pub threads: &'s Threads,
    pub accesses: &'s Accesses,
    pub conflicts: &'s Conflicts,
    pub races: &'s Races,
    pub monitors: &'s Monitors,
    pub exceptions: &'s Exceptions<'s, 'a>,
}

impl Choices<'_, '_> {
    /// Blocks whose handlers may get anything, by frame.
    pub fn catches(&self) -> Vec<Bits> {
        let catches = |frame: FrameId| {
            let blocks = 0..self.solver.frames[frame.index()].body.code.blocks.len();
            blocks.filter(|block| self.exceptions.is_caught_in(frame, *block as Block)).collect()
        };
        (0..self.solver.frames.len() as u32).map(FrameId).map(catches).collect()
    }

    /// The pairs that a read depends on; of the end of the program if there is no read.
    pub fn pairs(&self, location: Location, read: Option<AccessId>) -> Vec<(AccessId, AccessId)> {
        let Some(all) = self.conflicts.pairs.get(&location) else { return Vec::new() };
        let access = |id: &AccessId| &self.accesses.all[*id];
        let seen = |id: &AccessId| {
            read.is_none_or(|read| self.threads.may_precede(self.solver, access(id).at, access(&read).at))
        };
        let matters = |(one, other): &&(AccessId, AccessId)| {
            let with_read = read == Some(*one) && access(other).writes || read == Some(*other) && access(one).writes;
            with_read || access(one).writes && access(other).writes && seen(one) && seen(other)
        };
        all.iter().filter(matters).copied().collect()
    }

    /// Those whose order makes a difference.
    pub fn matter(&self, location: Location, read: Option<AccessId>, free: &OrderFree) -> Vec<(AccessId, AccessId)> {
        let mut pairs = self.pairs(location, read);
        let is_free = |id: &AccessId| free.accesses.contains(id);
        pairs.retain(|(one, other)| {
            let both_free = is_free(one) && is_free(other);
            let same = read != Some(*one) && read != Some(*other) && self.same_constant(*one, *other);
            !both_free && !same
        });
        pairs
    }

    /// Two writes of the same constant to the same place.
    fn same_constant(&self, one: AccessId, other: AccessId) -> bool {
        let constant = |id: AccessId| {
            let access = &self.accesses.all[id];
            let value = access.value.filter(|_| !access.library && access.index.is_none())?;
            match self.solver.code(access.at).constant(value)? {
                Constant::Whole(value) => Some((0, value)),
                Constant::Float(value) => Some((1, value.to_bits() as i64)),
                Constant::Null => Some((2, 0)),
                Constant::Text(name) => Some((3, name.0.into())),
                _ => None,
            }
        };
        constant(one).is_some() && constant(one) == constant(other)
    }
}
