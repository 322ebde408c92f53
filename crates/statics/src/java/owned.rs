//! What belongs to one instance of a thread although its abstract name is shared by many: the thread's own object,
//! what its fields hold if no two instances hold the same, and what it made and gave to nobody.
//!
//! Two accesses of two instances through such values never touch the same object. Everything here is about pairs within
//! one abstract thread; nothing is said about pairs of different ones.

use std::collections::{BTreeSet, HashMap};

use super::classes::FieldId;
use super::code::{BinaryOp, Constant, Def, How, Kind, Place, Type, Value};
use super::join_loops::induction;
use super::models::Word;
use super::solve::{Birth, FrameId, ObjectId, Origin, Point, Solver, ThreadId};
use super::threads::Threads;
use crate::bits::Bits;

/// What is known of a value in one instance of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// Nothing gets here.
    Nothing,
    /// The object that the instance runs.
    Own,
    /// What a field of that object holds, which does not change.
    Field(FieldId),
    Any,
}

impl Token {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, other) => other,
            (one, Self::Nothing) => one,
            (one, other) if one == other => one,
            _ => Self::Any,
        }
    }
}

pub struct Owned {
    tokens: Vec<Vec<Token>>,
    /// The object that instances of a thread run, if each runs its own.
    own: Vec<Option<ObjectId>>,
    /// Fields whose values differ between instances.
    distinct: BTreeSet<(ThreadId, FieldId)>,
    /// Objects that the instance that made them keeps for itself.
    confined: Vec<Bits>,
}

impl Owned {
    pub fn new(solver: &Solver<'_>, threads: &Threads, fixed: &dyn Fn(ObjectId, FieldId) -> bool) -> Self {
        let own: Vec<Option<ObjectId>> =
            (0..solver.threads.len()).map(|at| own_object(solver, ThreadId(at as u32))).collect();
        let mut owned = Self {
            tokens: Vec::new(),
            own,
            distinct: BTreeSet::new(),
            confined: vec![Bits::default(); solver.threads.len()],
        };
        owned.find_tokens(solver, fixed);
        owned.find_distinct(solver, threads);
        owned.find_confined(solver, threads);
        owned
    }

    pub fn token(&self, frame: FrameId, value: Value) -> Token {
        self.tokens[frame.index()][value.index()]
    }

    /// The object that instances of a thread run, if each runs its own.
    pub fn own_of(&self, thread: ThreadId) -> Option<ObjectId> {
        self.own[thread.index()]
    }

    /// Whether no two instances of a thread hold the same in a field of their own object.
    pub fn is_distinct(&self, thread: ThreadId, field: FieldId) -> bool {
        self.distinct.contains(&(thread, field))
    }

    /// Whether a value is another one in every other instance of its thread.
    pub fn is_own(&self, solver: &Solver<'_>, frame: FrameId, value: Value) -> bool {
        let thread = solver.frames[frame.index()].thread;
        match self.token(frame, value) {
            Token::Own => return true,
            Token::Field(field) if self.distinct.contains(&(thread, field)) => return true,
            _ => {}
        }
        self.is_confined(solver, frame, value)
    }

    /// Whether all that a value may refer to was made by the instance, which keeps it for itself.
    pub fn is_confined(&self, solver: &Solver<'_>, frame: FrameId, value: Value) -> bool {
        let confined = &self.confined[solver.frames[frame.index()].thread.index()];
        let targets = solver.refers(frame, value);
        !targets.is_empty() && targets.iter().all(|object| confined.contains(object))
    }

    fn find_tokens(&mut self, solver: &Solver<'_>, fixed: &dyn Fn(ObjectId, FieldId) -> bool) {
        self.tokens = solver.frames.iter().map(|frame| vec![Token::Nothing; frame.body.code.values.len()]).collect();
        let mut given: HashMap<(FrameId, u32), Token> = HashMap::new();
        for (at, thread) in solver.threads.iter().enumerate() {
            for entry in &thread.entries {
                let count = solver.frames[entry.index()].body.code.parameters.len() as u32;
                let receiver = solver.frames[entry.index()].receiver;
                let is_own = self.own[at].is_some() && receiver == self.own[at];
                for index in 0..count {
                    let token = if index == 0 && is_own { Token::Own } else { Token::Any };
                    given.insert((*entry, index), token);
                }
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..solver.frames.len() {
                let frame = FrameId(at as u32);
                changed |= self.frame_tokens(solver, frame, &given, fixed);
                let code = &solver.frames[at].body.code;
                for (block, inside) in code.blocks.iter().enumerate() {
                    for (index, statement) in inside.statements.iter().enumerate() {
                        let Kind::Call(call) = &statement.kind else { continue };
                        let point = Point { frame, block: block as u32, index: index as u32 };
                        for callee in solver.callees.get(&point).into_iter().flatten() {
                            let count = solver.frames[callee.index()].body.code.parameters.len();
                            for parameter in 0..count {
                                let direct = !solver.callbacks.contains(&point);
                                let token = match call.arguments.get(parameter) {
                                    Some(argument) if direct => self.tokens[at][argument.index()],
                                    _ => Token::Any,
                                };
                                let known = given.entry((*callee, parameter as u32)).or_insert(Token::Nothing);
                                let joined = known.join(token);
                                changed |= joined != *known;
                                *known = joined;
                            }
                        }
                    }
                }
            }
        }
    }

    fn frame_tokens(
        &mut self,
        solver: &Solver<'_>,
        frame: FrameId,
        given: &HashMap<(FrameId, u32), Token>,
        fixed: &dyn Fn(ObjectId, FieldId) -> bool,
    ) -> bool {
        let code = &solver.frames[frame.index()].body.code;
        let thread = solver.frames[frame.index()].thread;
        let mut any = false;
        let mut changed = true;
        while changed {
            changed = false;
            for (at, info) in code.values.iter().enumerate() {
                let tokens = &self.tokens[frame.index()];
                let token = match &info.def {
                    Def::Parameter(index) => given.get(&(frame, *index)).copied().unwrap_or(Token::Nothing),
                    Def::Cast(value, _) => tokens[value.index()],
                    Def::Phi(all) => all.iter().fold(Token::Nothing, |all, (_, one)| all.join(tokens[one.index()])),
                    Def::Load(Place::Field(base, member)) => match (tokens[base.index()], self.own[thread.index()]) {
                        (Token::Nothing, _) => Token::Nothing,
                        (Token::Own, Some(own)) => match solver.classes.known_field(*member) {
                            Some(field) if fixed(own, field) => Token::Field(field),
                            _ => Token::Any,
                        },
                        _ => Token::Any,
                    },
                    Def::Undefined => Token::Nothing,
                    _ => Token::Any,
                };
                let joined = tokens[at].join(token);
                if joined != tokens[at] {
                    self.tokens[frame.index()][at] = joined;
                    changed = true;
                    any = true;
                }
            }
        }
        any
    }

    /// Fields of threads' own objects that no two of them share.
    fn find_distinct(&mut self, solver: &Solver<'_>, threads: &Threads) {
        for (at, own) in self.own.clone().into_iter().enumerate() {
            let Some(own) = own else { continue };
            let fields: BTreeSet<FieldId> = self
                .tokens
                .iter()
                .flatten()
                .filter_map(|token| if let Token::Field(field) = token { Some(*field) } else { None })
                .collect();
            for field in fields {
                let sources = sources(solver, own, field);
                if let [(frame, value, true)] = sources[..]
                    && differs_by_object(solver, threads, own, frame, value)
                {
                    self.distinct.insert((ThreadId(at as u32), field));
                }
            }
        }
    }

    fn find_confined(&mut self, solver: &Solver<'_>, threads: &Threads) {
        for thread in (0..solver.threads.len()).filter(|at| threads.with_itself[*at]) {
            let id = ThreadId(thread as u32);
            self.confined[thread] = (0..solver.objects.len())
                .filter(|at| {
                    let object = &solver.objects[*at];
                    object.thread == id && matches!(object.origin, Origin::Site(..))
                })
                .collect();
            if let Some(node) = solver.static_nodes.get(&solver.thrown) {
                let thrown = solver.points_to[*node as usize].clone();
                self.confined[thread].remove_all(&thrown);
            }
            while self.leak(solver, id) {}
        }
    }

    /// Takes away what leaves its instance; whether there was any.
    fn leak(&mut self, solver: &Solver<'_>, thread: ThreadId) -> bool {
        let mut gone = Bits::default();
        let in_thread = |frame: FrameId| solver.frames[frame.index()].thread == thread;
        let keeps = |frame: FrameId, base: Value| in_thread(frame) && self.is_own(solver, frame, base);
        for at in solver.points() {
            match &solver.statement_at(at).kind {
                Kind::Store(place, value) => {
                    let kept = match place {
                        Place::Static(_) => false,
                        Place::Field(base, _) | Place::Element(base, _) => keeps(at.frame, *base),
                    };
                    if !kept {
                        gone.add_all(solver.refers(at.frame, *value));
                    }
                }
                Kind::Define(value) if in_thread(at.frame) => {
                    let code = &solver.frames[at.frame.index()].body.code;
                    let Def::Load(place) = code.def(*value) else { continue };
                    let kept = match place {
                        Place::Static(_) => false,
                        Place::Field(base, _) | Place::Element(base, _) => keeps(at.frame, *base),
                    };
                    if !kept {
                        gone.add_all(solver.refers(at.frame, *value));
                    }
                }
                Kind::Call(call) => {
                    let library = solver.used.contains_key(&at) || call.how == How::Unknown;
                    if !library {
                        continue;
                    }
                    // What a library object gets it keeps; what it gives may come from anywhere it was put.
                    let has_receiver = matches!(call.how, How::Special | How::Virtual);
                    let local = solver.used.get(&at).is_some_and(|used| {
                        used.iter().any(|one| one.receiver.is_some())
                            && used.iter().all(|one| one.model.has(Word::Local))
                    });
                    let kept =
                        local || has_receiver && call.arguments.first().is_some_and(|base| keeps(at.frame, *base));
                    let opaque = solver.used[&at].iter().any(|one| one.model.has(Word::Opaque));
                    if !kept || opaque {
                        let given = call.arguments.iter().skip(usize::from(has_receiver && !opaque));
                        given.for_each(|value| {
                            gone.add_all(solver.refers(at.frame, *value));
                        });
                        let fresh = solver.used[&at].iter().all(|one| {
                            one.model.has(Word::Fresh) || one.model.has(Word::View) || one.model.has(Word::This)
                        });
                        if let Some(to) = call.to.filter(|_| !fresh) {
                            gone.add_all(solver.refers(at.frame, to));
                        }
                    }
                }
                _ => {}
            }
        }
        let before = self.confined[thread.index()].clone();
        self.confined[thread.index()].remove_all(&gone);
        before != self.confined[thread.index()]
    }
}

/// The object that each instance of a thread runs and no other instance does.
fn own_object(solver: &Solver<'_>, thread: ThreadId) -> Option<ObjectId> {
    let own = &solver.threads[thread.index()];
    if own.is_folded {
        return None;
    }
    match own.birth {
        Birth::Started(object) => {
            let entry = own.entries.first()?;
            let receiver = solver.frames[entry.index()].receiver?;
            if own.entries.iter().any(|entry| solver.frames[entry.index()].receiver != Some(receiver)) {
                return None;
            }
            if receiver == object || goes_with(solver, receiver, object) { Some(receiver) } else { None }
        }
        Birth::Task(object, ..) => {
            let [start] = own.starts.iter().copied().collect::<Vec<_>>()[..] else { return None };
            let call = solver.call_at(start)?;
            let given = call.arguments.iter().any(|argument| is_made_beside(solver, start, *argument, object));
            (given && made_once(solver, object)).then_some(object)
        }
        _ => None,
    }
}

fn made_once(solver: &Solver<'_>, object: ObjectId) -> bool {
    solver.objects[object.index()].made.len() == 1
}

/// A value of a statement is an object that is made in the same turn of the same loop.
fn is_made_beside(solver: &Solver<'_>, at: Point, value: Value, object: ObjectId) -> bool {
    let value = solver.code(at).plain(value);
    is_new_beside(solver, at, value, object) && uses(solver, at.frame, value) == 1
}

fn is_new_beside(solver: &Solver<'_>, at: Point, value: Value, object: ObjectId) -> bool {
    let body = &solver.frames[at.frame.index()].body;
    let value = body.code.plain(value);
    let is_new = match body.code.def(value) {
        Def::New(_) => true,
        // A function object.
        Def::Result => solver.objects[object.index()].lambda.is_some(),
        _ => false,
    };
    let block = body.code.values[value.index()].block;
    is_new
        && solver.objects_of(at.frame, value) == [object]
        && solver.objects[object.index()].made.contains(&(at.frame, block))
        && body.graph.same_loop(block, at.block)
}

/// Calls that are given a value as more than their receiver.
fn uses(solver: &Solver<'_>, frame: FrameId, value: Value) -> usize {
    let code = &solver.frames[frame.index()].body.code;
    let statements = code.blocks.iter().flat_map(|block| &block.statements);
    let times = statements.map(|statement| match &statement.kind {
        Kind::Call(call) => {
            let skipped = usize::from(matches!(call.how, How::Special));
            call.arguments.iter().skip(skipped).filter(|argument| code.plain(**argument) == value).count()
        }
        Kind::Store(_, stored) => 2 * usize::from(code.plain(*stored) == value),
        _ => 0,
    });
    let in_phis = code.values.iter().filter(|info| match &info.def {
        Def::Phi(all) => all.iter().any(|(_, one)| *one == value),
        _ => false,
    });
    times.sum::<usize>() + 2 * in_phis.count()
}

/// What a thread object was given to run was made for it alone.
fn goes_with(solver: &Solver<'_>, given: ObjectId, thread: ObjectId) -> bool {
    if !made_once(solver, given) || !made_once(solver, thread) {
        return false;
    }
    let mut constructors = solver
        .used
        .iter()
        .filter(|(_, used)| used.iter().any(|one| one.model.has(Word::Target) && one.receiver == Some(thread)));
    let Some((at, _)) = constructors.next() else { return false };
    let Some(call) = solver.call_at(*at) else { return false };
    let code = solver.code(*at);
    let graph = &solver.frames[at.frame.index()].body.graph;
    let this = code.plain(call.arguments[0]);
    let together = matches!(code.def(this), Def::New(_))
        && graph.same_loop(code.values[this.index()].block, at.block)
        && solver.objects[thread.index()].made.contains(&(at.frame, code.values[this.index()].block));
    constructors.next().is_none()
        && together
        && call.arguments.iter().skip(1).any(|argument| {
            let stored = solver.forwarded(at.frame, *argument);
            is_made_beside(solver, *at, *argument, given)
                || is_new_beside(solver, *at, *argument, given) && runs_alone(solver, given, thread)
                || stored.is_some_and(|stored| {
                    is_new_beside(solver, *at, stored, given) && runs_alone(solver, given, thread)
                })
        })
}

/// No other thread is given the same object to run.
fn runs_alone(solver: &Solver<'_>, given: ObjectId, thread: ObjectId) -> bool {
    solver.threads.iter().all(|one| {
        let is_this = matches!(one.birth, Birth::Started(object) if object == thread);
        let runs = |entry: &FrameId| solver.frames[entry.index()].receiver == Some(given);
        is_this || !one.entries.iter().any(runs)
    })
}

/// What is stored in a field of an object, where; whether that is surely done.
pub(super) fn sources(solver: &Solver<'_>, object: ObjectId, field: FieldId) -> Vec<(FrameId, Value, bool)> {
    let mut found = Vec::new();
    for at in solver.points() {
        match &solver.statement_at(at).kind {
            Kind::Store(Place::Field(base, member), value) => {
                let same = solver.classes.known_field(*member) == Some(field);
                if same && solver.refers(at.frame, *base).contains(object.index()) {
                    let body = &solver.frames[at.frame.index()].body;
                    let ends = body.code.blocks.iter().enumerate().filter(|(_, block)| {
                        matches!(block.statements.last().map(|last| &last.kind), Some(Kind::Return(_)))
                    });
                    let surely = ends.into_iter().all(|(end, _)| body.graph.dominates(at.block, end as u32));
                    found.push((at.frame, *value, surely));
                }
            }
            Kind::Call(call) if matches!(call.how, How::Lambda { .. }) => {
                let makes = call.to.is_some_and(|to| solver.refers(at.frame, to).contains(object.index()));
                let index = solver.classes.captured_index(field);
                if let (true, Some(value)) = (makes, index.and_then(|index| call.arguments.get(index))) {
                    found.push((at.frame, *value, true));
                }
            }
            _ => {}
        }
    }
    found
}

/// A value that is another one for every object: counted by the loop that makes them, or made with each of them.
fn differs_by_object(
    solver: &Solver<'_>,
    threads: &Threads,
    object: ObjectId,
    mut frame: FrameId,
    mut value: Value,
) -> bool {
    for _ in 0..8 {
        let own = &solver.frames[frame.index()];
        value = own.body.code.plain(value);
        let Def::Parameter(index) = own.body.code.def(value) else { break };
        let (Some(caller), 1) = (own.callers.first().copied(), own.callers.len()) else { return false };
        let Some(argument) = solver.call_at(caller).and_then(|call| call.arguments.get(*index as usize)) else {
            return false;
        };
        (frame, value) = (caller.frame, *argument);
    }
    // What a constructor makes for the object that it is about.
    let own = &solver.frames[frame.index()];
    let is_constructor = solver.classes.names.text(solver.classes.method(own.method).name) == "<init>";
    if is_constructor
        && own.receiver == Some(object)
        && matches!(own.body.code.def(value), Def::New(_) | Def::Array(..))
    {
        return true;
    }
    let made: Vec<_> = solver.objects[object.index()].made.iter().copied().collect();
    let &[(maker, block)] = &made[..] else { return false };
    let (code, graph) = (&own.body.code, &own.body.graph);
    let around: Vec<_> = graph.loops.iter().filter(|one| one.blocks.contains(&block)).collect();
    let &[around] = &around[..] else { return false };
    let once = maker == frame && !threads.is_repeated(frame) && !threads.many[own.thread.index()];
    if !once || graph.innermost[block as usize].is_none() {
        return false;
    }
    if let Def::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right, kind: Type::I32 | Type::I64 } = code.def(value)
        && matches!(code.constant(*right), Some(Constant::Whole(_)))
    {
        value = *left;
    }
    match code.def(value) {
        Def::Phi(_) => induction(code, around, value).is_some_and(|(_, step)| step != 0),
        Def::New(_) | Def::Array(..) => graph.same_loop(code.values[value.index()].block, block),
        _ => false,
    }
}
