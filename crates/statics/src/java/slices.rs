//! Places of an array that belong to one instance of a thread, by its number: blocks `id*n <= i < (id+1)*n`, single
//! places `a[id]`, every n-th place, and the same by rows of an array of arrays.
//!
//! The index of an access is bounded from both sides by sums of products of what does not change while threads run
//! ([`super::poly`]); `Id` stands for a number that is another one in every instance. Two accesses are apart if both
//! stay within blocks of one size that start at `id * size`. The main thread may take part with a number of its own.
//!
//! Assumption: these computations do not overflow.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use super::accesses::{Access, Accesses, Location};
use super::code::{BinaryOp, Block, Code, Constant, Def, Kind, Place, Test, Type, Value};
use super::flow_graph::Loop;
use super::join_loops::{bound_of, head_test, induction};
use super::numbers::by_number;
use super::owned::{Owned, Token, sources};
use super::poly::{Number, Poly};
use super::solve::{FrameId, ObjectId, Origin, Point, Solver, ThreadId};
use super::threads::Threads;

pub struct Slices<'f, 'a> {
    pub solver: &'f Solver<'a>,
    pub threads: &'f Threads,
    pub accesses: &'f Accesses,
    pub owned: &'f Owned,
    /// What is stored into arrays, by array.
    pub puts: OnceCell<HashMap<ObjectId, Vec<Put>>>,
    pub ends: Ends,
}

/// Where instances are compared with each other, how far the last one goes does not matter: there is none behind it.
#[derive(Default)]
pub struct Ends {
    compared: Cell<bool>,
    /// That was made use of.
    left_open: Cell<bool>,
}

/// Where, at which place, and what.
pub type Put = (Point, Value, Value);

/// Where an index may lie, both ends included.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub low: Poly,
    pub high: Poly,
}

pub(super) const DEPTH: u32 = 24;

impl Slices<'_, '_> {
    /// Whether two accesses never touch the same place.
    pub fn are_apart(&self, one: &Access, other: &Access) -> bool {
        let own = |access: &Access| access.index.map(|index| (access.at, index));
        let by_index = match (own(one), own(other)) {
            (Some(a), Some(b)) => self.apart(a, b),
            _ => false,
        };
        by_index
            || match (self.row(one), self.row(other)) {
                (Some((holder, a)), Some((same, b))) if holder == same => self.apart((one.at, a), (other.at, b)),
                _ => false,
            }
    }

    pub(super) fn code(&self, frame: FrameId) -> &Code {
        &self.solver.frames[frame.index()].body.code
    }

    /// The array that holds another object at every place from which an access got its object, and the index.
    fn row(&self, access: &Access) -> Option<(ObjectId, Value)> {
        let (frame, base) = (access.at.frame, access.base?);
        let Def::Load(Place::Element(outer, index)) = self.code(frame).def(base) else { return None };
        let [holder] = self.solver.objects_of(frame, *outer)[..] else { return None };
        let Location::Field(object, _) = access.location else { return None };
        let is_row = matches!(self.solver.objects[object.index()].origin, Origin::Site(_, _, 1..100));
        let mut puts = self.puts.get_or_init(|| self.all_puts()).get(&holder).into_iter().flatten().copied();
        let single = self.threads.is_single(self.solver, holder);
        let unknown = self.accesses.unknown_objects.contains(holder.index());
        let filled_by_library =
            self.accesses.by_location.get(&Location::Field(holder, self.solver.element)).is_some_and(|all| {
                all.iter().any(|id| self.accesses.all[*id].library && self.accesses.all[*id].writes)
            });
        let apart = match puts.next() {
            None => is_row,
            Some(put) => puts.next().is_none() && !is_row && self.puts_new(put),
        };
        (single && !unknown && !filled_by_library && apart).then_some((holder, *index))
    }

    fn all_puts(&self) -> HashMap<ObjectId, Vec<Put>> {
        let mut all: HashMap<ObjectId, Vec<Put>> = HashMap::new();
        for at in self.solver.points() {
            if let Kind::Store(Place::Element(base, index), value) = &self.solver.statement_at(at).kind {
                for object in self.solver.objects_of(at.frame, *base) {
                    all.entry(object).or_default().push((at, *index, *value));
                }
            }
        }
        all
    }

    /// Stores another new object at every place that a loop counts.
    fn puts_new(&self, (at, index, value): (Point, Value, Value)) -> bool {
        let body = &self.solver.frames[at.frame.index()].body;
        let value = body.code.plain(value);
        let block = body.code.values[value.index()].block;
        let around: Vec<&Loop> = body.graph.loops.iter().filter(|one| one.blocks.contains(&at.block)).collect();
        let &[around] = &around[..] else { return false };
        matches!(body.code.def(value), Def::New(_) | Def::Array(..))
            && body.graph.same_loop(block, at.block)
            && !self.threads.is_repeated(at.frame)
            && !self.threads.many[self.solver.frames[at.frame.index()].thread.index()]
            && induction(&body.code, around, body.code.plain(index)).is_some_and(|(_, step)| step != 0)
    }

    fn apart(&self, one: (Point, Value), other: (Point, Value)) -> bool {
        if self.never(one.0) || self.never(other.0) {
            return true;
        }
        let in_blocks = || {
            let (Some(a), Some(b)) = (self.range(one.0, one.1), self.range(other.0, other.1)) else { return false };
            self.in_blocks(&a, &b) || self.in_blocks(&b, &a) || in_parts(&a, &b)
        };
        self.ends.compared.set(true);
        self.ends.left_open.set(false);
        let compared = in_blocks();
        self.ends.compared.set(false);
        compared || self.every_nth(one, other)
    }

    /// Both lie in blocks of one size, each in that of its own number.
    fn in_blocks(&self, one: &Range, other: &Range) -> bool {
        let check = || -> Option<bool> {
            let (id, size, low) = one.low.by_id()?;
            let (same, factor, high) = one.high.by_id()?;
            let (thread, number) = id?;
            (same == id && factor == size).then_some(())?;
            let (other_id, other_size, other_low) = other.low.by_id()?;
            let (other_same, other_factor, other_high) = other.high.by_id()?;
            (other_id == other_same && other_size == other_factor).then_some(())?;
            let windows: Vec<(Poly, Poly)> = match other_id {
                Some(known) => {
                    (known == (thread, number) && other_size == size).then_some(())?;
                    vec![(other_low, other_high)]
                }
                // An instance that is not one of that thread: its numbers begin behind this one's.
                None => {
                    let first = self.first(thread, number)?;
                    let shifted = |number: i64| {
                        let start = size.times(&Poly::number(number))?;
                        Some((other_low.minus(&start)?, other_high.minus(&start)?))
                    };
                    (0..first.clamp(0, 4)).filter_map(shifted).collect()
                }
            };
            let (width, other_width) = (one.high.minus(&one.low)?, other.high.minus(&other.low)?);
            // Blocks of size zero all begin at the same place. What the last one does says nothing about its size.
            let shown = [width, other_width].into_iter().filter(|width| width.shows_positive(&size)).count();
            (shown > usize::from(self.ends.left_open.get())).then_some(())?;
            let fits = |(other_low, other_high): &(Poly, Poly)| -> Option<bool> {
                // Where the window begins: the lower of the two.
                let begins = match other_low.minus(&low)?.constant()? {
                    ..0 => other_low.clone(),
                    _ => low.clone(),
                };
                let within = |high: &Poly| Some(high.minus(&begins)?.minus(&size)?.is_below_zero(&size));
                Some(within(&high)? && within(other_high)?)
            };
            Some(windows.iter().any(|window| fits(window) == Some(true)))
        };
        check() == Some(true)
    }

    /// `for (i = id; …; i += n)` in both, with numbers below n.
    fn every_nth(&self, one: (Point, Value), other: (Point, Value)) -> bool {
        let check = || -> Option<bool> {
            let (first, step) = self.strided(one.0, one.1)?;
            let (second, same) = self.strided(other.0, other.1)?;
            let (id, factor, rest) = first.by_id()?;
            let (other_id, other_factor, other_rest) = second.by_id()?;
            let (thread, number) = id?;
            (step == same && id == other_id && factor == Poly::number(1)).then_some(())?;
            (factor == other_factor && rest == other_rest).then_some(())?;
            let (start, bound) = self.counted(thread, number)?;
            Some(start >= 0 && bound == step)
        };
        check() == Some(true)
    }

    /// First value and step of what a loop counts, both unchanging.
    fn strided(&self, at: Point, value: Value) -> Option<(Poly, Poly)> {
        let body = &self.solver.frames[at.frame.index()].body;
        let value = body.code.plain(value);
        let info = &body.code.values[value.index()];
        let Def::Phi(all) = &info.def else { return None };
        let around = body.graph.loops.iter().find(|one| one.head == info.block)?;
        let (mut first, mut step) = (None, None);
        for (from, one) in all {
            let known = match around.blocks.contains(from) {
                true => {
                    let Def::Binary { op: BinaryOp::Add, kind: Type::I32 | Type::I64, left, right } =
                        body.code.def(*one)
                    else {
                        return None;
                    };
                    (body.code.plain(*left) == value).then_some(())?;
                    (&mut step, self.poly(at.frame, *right, DEPTH)?)
                }
                false => (&mut first, self.poly(at.frame, *one, DEPTH)?),
            };
            known.0.as_ref().is_none_or(|before| *before == known.1).then_some(())?;
            *known.0 = Some(known.1);
        }
        Some((first?, step?))
    }

    /// Where the numbers of a thread's instances begin.
    pub(super) fn first(&self, thread: ThreadId, number: Number) -> Option<i64> {
        let (frame, value) = self.number(thread, number)?;
        let body = &self.solver.frames[frame.index()].body;
        let around = body.graph.loops.iter().find(|one| one.head == body.code.values[value.index()].block)?;
        let (first, step) = induction(&body.code, around, value)?;
        (step > 0).then_some(first)
    }

    /// Where they begin and where they end (excluded).
    fn counted(&self, thread: ThreadId, number: Number) -> Option<(i64, Poly)> {
        let (frame, value) = self.number(thread, number)?;
        let body = &self.solver.frames[frame.index()].body;
        let around = body.graph.loops.iter().find(|one| one.head == body.code.values[value.index()].block)?;
        let bound = bound_of(&body.code, head_test(&body.code, around)?, value)?;
        Some((self.first(thread, number)?, self.poly(frame, bound, DEPTH)?))
    }

    /// The loop's variable that the instances' numbers come from, as it is.
    fn number(&self, thread: ThreadId, number: Number) -> Option<(FrameId, Value)> {
        let field = match number {
            Number::Field(field) => field,
            Number::Count(frame, value) => return Some((frame, value)),
        };
        let own = self.owned.own_of(thread)?;
        let [(mut frame, mut value, true)] = sources(self.solver, own, field)[..] else { return None };
        for _ in 0..8 {
            let code = self.code(frame);
            value = code.plain(value);
            let Def::Parameter(index) = code.def(value) else { break };
            let callers = &self.solver.frames[frame.index()].callers;
            let (Some(caller), 1) = (callers.first().copied(), callers.len()) else { return None };
            value = *self.solver.call_at(caller)?.arguments.get(*index as usize)?;
            frame = caller.frame;
        }
        Some((frame, value))
    }

    pub(super) fn range(&self, at: Point, value: Value) -> Option<Range> {
        Some(Range { low: self.low(at, value, DEPTH)?, high: self.high(at, value, DEPTH)? })
    }

    fn low(&self, at: Point, value: Value, depth: u32) -> Option<Poly> {
        self.bound(at, value, false, depth)
    }

    fn high(&self, at: Point, value: Value, depth: u32) -> Option<Poly> {
        self.bound(at, value, true, depth)
    }

    /// What a value never exceeds, or is never below.
    fn bound(&self, at: Point, value: Value, upper: bool, depth: u32) -> Option<Poly> {
        let depth = depth.checked_sub(1)?;
        if let Some(poly) = self.poly(at.frame, value, depth) {
            return Some(poly);
        }
        let code = self.code(at.frame);
        let value = code.plain(value);
        if let Token::Field(field) = self.owned.token(at.frame, value) {
            let thread = self.solver.frames[at.frame.index()].thread;
            return self.given(thread, self.owned.own_of(thread)?, field, Some(upper), depth);
        }
        match code.def(value) {
            Def::Binary { op: BinaryOp::Add, kind: Type::I32 | Type::I64, left, right } => {
                self.bound(at, *left, upper, depth)?.plus(&self.bound(at, *right, upper, depth)?, 1)
            }
            Def::Binary { op: BinaryOp::Sub, kind: Type::I32 | Type::I64, left, right } => {
                let compared = self.ends.compared.replace(false);
                let right = self.bound(at, *right, !upper, depth);
                self.ends.compared.set(compared);
                self.bound(at, *left, upper, depth)?.minus(&right?)
            }
            Def::Phi(_) => {
                let graph = &self.solver.frames[at.frame.index()].body.graph;
                let head = code.values[value.index()].block;
                match graph.loops.iter().find(|one| one.head == head) {
                    Some(around) => self.counted_bound(at, value, around, upper, depth),
                    None => self.merged(at, value, upper, depth),
                }
            }
            Def::Result => self.least(at, value, upper, depth),
            _ => None,
        }
    }

    /// `Math.min` from above, `Math.max` from below.
    fn least(&self, at: Point, value: Value, upper: bool, depth: u32) -> Option<Poly> {
        let arguments = self.least_of(at.frame, value, upper)?;
        by_number(arguments.iter().filter_map(|one| self.bound(at, *one, upper, depth)))
    }

    /// The arguments, each of which is a bound.
    pub(super) fn least_of(&self, frame: FrameId, value: Value, upper: bool) -> Option<&[Value]> {
        let statements = self.code(frame).blocks.iter().flat_map(|block| &block.statements);
        let mut calls = statements.filter_map(|one| match &one.kind {
            Kind::Call(call) if call.to == Some(value) => Some(call),
            _ => None,
        });
        let call = calls.next()?;
        let names = &self.solver.classes.names;
        let wanted = if upper { "min" } else { "max" };
        let is_meant = names.text(call.method.class) == "java/lang/Math" && names.text(call.method.name) == wanted;
        is_meant.then_some(&call.arguments[..])
    }

    /// A number that a loop counts, where it is used inside the loop.
    fn counted_bound(&self, at: Point, value: Value, around: &Loop, upper: bool, depth: u32) -> Option<Poly> {
        (around.blocks.contains(&at.block) && at.block != around.head).then_some(())?;
        let code = self.code(at.frame);
        let (first, step) = self.steps(at.frame, value, around)?;
        (step > 0).then_some(())?;
        if !upper {
            return self.low(at, first, depth);
        }
        let test = head_test(code, around)?;
        let Kind::Branch(_, left, Some(right)) = test.2 else { return None };
        // Its own test, or that of one that counts beside it.
        for tested in [*left, *right].map(|one| code.plain(one)) {
            let Some(bound) = bound_of(code, test, tested) else { continue };
            let beside = self.steps(at.frame, tested, around)?;
            let together = tested == value
                || beside.1 == step && self.poly(at.frame, beside.0, depth)? == self.poly(at.frame, first, depth)?;
            if !together {
                continue;
            }
            let (bound, begins) = (self.high(at, bound, depth)?, self.poly(at.frame, first, depth));
            let exact = begins.and_then(|begins| bound.minus(&begins)).is_some_and(|length| length.is_divisible(step));
            return bound.plus(&Poly::number(if exact { step } else { 1 }), -1);
        }
        None
    }

    /// First value and constant step, over several additions within a turn.
    fn steps(&self, frame: FrameId, value: Value, around: &Loop) -> Option<(Value, i64)> {
        let code = self.code(frame);
        let info = &code.values[value.index()];
        let Def::Phi(all) = &info.def else { return None };
        (info.block == around.head).then_some(())?;
        let (mut first, mut step) = (None, None);
        for (from, one) in all {
            if !around.blocks.contains(from) {
                first.is_none_or(|first| first == *one).then_some(())?;
                first = Some(*one);
                continue;
            }
            let (mut by, mut at) = (0i64, code.plain(*one));
            for _ in 0..64 {
                if at == value {
                    break;
                }
                let Def::Binary { op, kind: Type::I32 | Type::I64, left, right } = code.def(at) else { return None };
                let Some(Constant::Whole(number)) = code.constant(*right) else { return None };
                by += match op {
                    BinaryOp::Add => number,
                    BinaryOp::Sub => -number,
                    _ => return None,
                };
                at = code.plain(*left);
            }
            (at == value && step.is_none_or(|step| step == by)).then_some(())?;
            step = Some(by);
        }
        Some((first?, step?))
    }

    /// Where two ways meet: the farther one, or the one that the other was tested against.
    fn merged(&self, at: Point, value: Value, upper: bool, depth: u32) -> Option<Poly> {
        let Def::Phi(all) = self.code(at.frame).def(value) else { return None };
        let bounds: Vec<(Block, Option<Poly>)> =
            all.iter().map(|(from, one)| (*from, self.bound(at, *one, upper, depth))).collect();
        let mut best: Option<Poly> = None;
        for (_, bound) in &bounds {
            let Some(bound) = bound else { continue };
            let others = bounds.iter().all(|(from, other)| match other {
                Some(other) => {
                    let beyond = other.minus(bound).and_then(|difference| difference.constant());
                    beyond.is_some_and(|beyond| if upper { beyond <= 0 } else { beyond >= 0 })
                        || self.is_clamped(at.frame, *from, other, bound, upper)
                }
                None => false,
            });
            let is_tighter = |best: &Poly| {
                let less = bound.minus(best).and_then(|less| less.constant());
                less.is_none_or(|less| if upper { less < 0 } else { less > 0 })
            };
            if others && best.as_ref().is_none_or(is_tighter) {
                best = Some(bound.clone());
            }
        }
        best
    }

    /// A block is reached only where `smaller < greater` (or the other way round) was tested, or where two were equal.
    fn is_clamped(&self, frame: FrameId, block: Block, own: &Poly, bound: &Poly, upper: bool) -> bool {
        let body = &self.solver.frames[frame.index()].body;
        let &[before] = &body.graph.predecessors[block as usize][..] else { return false };
        let code = &body.code.blocks[before];
        let Some(Kind::Branch(test, left, right)) = code.statements.last().map(|last| &last.kind) else {
            return false;
        };
        if code.next.len() != 2 || code.next[0] == code.next[1] {
            return false;
        }
        let right = right.map_or(Some(Poly::default()), |right| self.poly(frame, right, DEPTH));
        let holds = code.next[0] == block;
        let (Some(left), Some(right)) = (self.poly(frame, *left, DEPTH), right) else {
            return false;
        };
        if matches!((test, holds), (Test::Eq, true) | (Test::Ne, false)) {
            let Some(zero) = left.minus(&right) else { return false };
            if upper && self.ends.compared.get() && self.is_last(&zero) {
                self.ends.left_open.set(true);
                return true;
            }
            let beyond = own.minus(bound).and_then(|over| over.where_zero(&zero));
            return beyond.is_some_and(|beyond| if upper { beyond <= 0 } else { beyond >= 0 });
        }
        let (small, great) = match (test, holds) {
            (Test::Lt | Test::Le, true) => (left, right),
            (Test::Lt | Test::Le, false) => (right, left),
            _ => return false,
        };
        match upper {
            true => small == *own && great == *bound,
            false => great == *own && small == *bound,
        }
    }

    /// Whether a number is zero only for the instance with the highest number: `id == count - 1`.
    fn is_last(&self, zero: &Poly) -> bool {
        let last = || -> Option<bool> {
            let (id, factor, rest) = zero.by_id()?;
            let (thread, number) = id?;
            let (_, bound) = self.counted(thread, number)?;
            (factor == Poly::number(1)).then_some(())?;
            Some(rest.plus(&bound, 1)?.constant()? == 1)
        };
        last() == Some(true)
    }
}

/// Both lie in parts of a whole, each in that of its own number: `id * n / parts <= i < (id + 1) * n / parts`. Quotients of
/// numbers that go up (or down) by one amount with every number never turn back.
fn in_parts(one: &Range, other: &Range) -> bool {
    let part = |range: &Range| -> Option<(Poly, Poly, i64)> {
        let (low, parts, begin) = range.low.as_quotient()?;
        let (high, same, end) = range.high.as_quotient()?;
        let (id, factor, _) = low.by_id()?;
        (id.is_some() && parts == same && !parts.names_id() && end < begin).then_some(())?;
        (high.minus(low)? == factor).then_some((low.clone(), parts.clone(), begin))
    };
    part(one).is_some_and(|one| part(other) == Some(one))
}
