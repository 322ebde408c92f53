//! What each statement may throw, and what decides whether it does.

use std::collections::{BTreeSet, HashSet};

use super::Thrown;
use crate::java::code::{
    BinaryOp, Block, Call, Code, Constant, Def, How, Kind, Name, Names, Place, Statement, Test, Value,
};
use crate::java::join_loops::{bound_of, head_test, induction};
use crate::java::models::{Model, Word};
use crate::java::nullness::Nullness;
use crate::java::solve::{Birth, FrameId, OPAQUE, ObjectId, Origin, Point, Solver, ThreadId, Used};
use crate::java::threads::{Interrupts, Threads, gathered, threads_of};

/// Why something may be thrown at a statement, and what decides it.
#[derive(Clone, Debug, Default)]
pub struct Cause {
    pub thrown: Thrown,
    /// These do.
    pub operands: Vec<Value>,
    /// What a library object holds does, too.
    pub held: bool,
    /// The order of threads does: a limit that runs out, an interrupt.
    pub chosen: bool,
    /// It happens only if somebody changes meanwhile what is gone through.
    pub meanwhile: bool,
    /// What this handler got is thrown again.
    pub again: Option<Block>,
    /// What these throw comes out here.
    pub callees: Vec<FrameId>,
    /// If one of these threw anything, this is thrown here.
    pub tasks: Vec<FrameId>,
    pub wrapped: Thrown,
}

/// Names of the classes of exceptions that the machine throws.
pub(super) struct Known {
    null: Name,
    index: Name,
    store: Name,
    cast: Name,
    arithmetic: Name,
    negative: Name,
    pub interrupted: Name,
    pub broken: Name,
}

const KNOWN: [&str; 8] = [
    "java/lang/NullPointerException",
    "java/lang/ArrayIndexOutOfBoundsException",
    "java/lang/ArrayStoreException",
    "java/lang/ClassCastException",
    "java/lang/ArithmeticException",
    "java/lang/NegativeArraySizeException",
    "java/lang/InterruptedException",
    "java/util/concurrent/BrokenBarrierException",
];

impl Known {
    pub fn prepare(names: &mut Names) {
        KNOWN.into_iter().for_each(|name| {
            names.add(name);
        });
    }

    pub fn new(solver: &Solver<'_>) -> Self {
        let [null, index, store, cast, arithmetic, negative, interrupted, broken] =
            KNOWN.map(|name| solver.classes.names.get(name).expect("names are prepared"));
        Self { null, index, store, cast, arithmetic, negative, interrupted, broken }
    }
}

pub(super) struct Finder<'f, 's, 'a> {
    solver: &'s Solver<'a>,
    nullness: &'f Nullness<'s, 'a>,
    /// Accesses to arrays whose index surely lies within.
    within: &'f HashSet<Point>,
    threads: Option<&'f Threads>,
    known: Known,
    interrupts: Interrupts,
    /// Where pools are closed.
    closes: Vec<Point>,
}

impl<'f, 's, 'a> Finder<'f, 's, 'a> {
    pub fn new(
        solver: &'s Solver<'a>,
        nullness: &'f Nullness<'s, 'a>,
        within: &'f HashSet<Point>,
        threads: Option<&'f Threads>,
    ) -> Self {
        let closes = |used: &[Used]| used.iter().any(|one| one.model.has(Word::Closes));
        let closes = solver.used.iter().filter(|(_, used)| closes(used)).map(|(at, _)| *at).collect();
        let (known, interrupts) = (Known::new(solver), Interrupts::new(solver));
        Self { solver, nullness, within, threads, known, interrupts, closes }
    }

    fn code(&self, frame: FrameId) -> &'s Code {
        &self.solver.frames[frame.index()].body.code
    }

    /// What may be thrown at a point.
    pub fn causes(&self, at: Point) -> Vec<Cause> {
        let mut causes = Vec::new();
        let code = self.code(at.frame);
        match &self.solver.statement_at(at).kind {
            Kind::Define(value) => match code.def(*value) {
                Def::Load(place) => self.place(at, place, &mut causes),
                Def::Length(array) => self.null(at, *array, &mut causes),
                Def::Cast(value, class) => causes.extend(self.cast(at.frame, *value, *class)),
                Def::Binary { op: BinaryOp::Div | BinaryOp::Rem, right, .. } => {
                    let is_zero = !matches!(code.constant(*right), Some(Constant::Whole(number)) if number != 0);
                    causes.extend(is_zero.then(|| one(self.known.arithmetic, &[*right])));
                }
                Def::Array(_, lengths) => {
                    let is_length = |value: &Value| match code.def(*value) {
                        Def::Constant(Constant::Whole(number)) => *number >= 0,
                        def => matches!(def, Def::Length(_)),
                    };
                    let doubtful: Vec<Value> = lengths.iter().copied().filter(|one| !is_length(one)).collect();
                    if !doubtful.is_empty() {
                        causes.push(one(self.known.negative, &doubtful));
                    }
                }
                _ => {}
            },
            Kind::Store(place, value) => {
                self.place(at, place, &mut causes);
                if let Place::Element(base, _) = place
                    && !self.fits(at.frame, *base, *value)
                {
                    causes.push(one(self.known.store, &[*base, *value]));
                }
            }
            Kind::Enter(object) | Kind::Exit(object) => self.null(at, *object, &mut causes),
            Kind::Throw(value) => {
                self.null(at, *value, &mut causes);
                causes.push(self.thrown_by(at.frame, *value));
            }
            Kind::Call(_) => self.call(at, &mut causes),
            _ => {}
        }
        causes
    }

    fn cast(&self, frame: FrameId, value: Value, class: Name) -> Option<Cause> {
        let fits = self.solver.refers(frame, value).iter().all(|object| self.is_instance(object, class));
        (!fits).then(|| one(self.known.cast, &[value]))
    }

    /// What `throw` throws: objects that a value refers to, or what a handler got.
    fn thrown_by(&self, frame: FrameId, value: Value) -> Cause {
        let code = self.code(frame);
        let plain = code.plain(value);
        let mut cause = Cause { operands: vec![value], ..Cause::default() };
        if let Def::Caught = code.def(plain) {
            return Cause { again: Some(code.values[plain.index()].block), ..cause };
        }
        let objects = self.solver.objects_of(frame, value);
        cause.thrown.any = objects.is_empty();
        for object in objects {
            let own = &self.solver.objects[object.index()];
            // What the library makes may be of a class below the one that it is said to have.
            cause.thrown.any |= !matches!(own.origin, Origin::Site(_, _, 0));
            cause.thrown.classes.insert(own.class);
        }
        // Together with what handlers got, where it may be that as well.
        let is_caught = |one: &Value| matches!(code.def(code.plain(*one)), Def::Caught);
        cause.thrown.any |= code.operands(plain).iter().any(is_caught);
        cause
    }

    fn null(&self, at: Point, value: Value, causes: &mut Vec<Cause>) {
        if !self.nullness.is_never_null(at, value) {
            causes.push(one(self.known.null, &[value]));
        }
    }

    /// Arguments that are objects and may be null.
    fn any_null(&self, at: Point, mut operands: Vec<Value>, causes: &mut Vec<Cause>) {
        let code = self.code(at.frame);
        // Numbers are none.
        let is_object = |value: &Value| !self.solver.refers(at.frame, *value).is_empty() || is_null(code, *value);
        operands.retain(|value| is_object(value) && !self.nullness.is_never_null(at, *value));
        if !operands.is_empty() {
            causes.push(one(self.known.null, &operands));
        }
    }

    fn place(&self, at: Point, place: &Place, causes: &mut Vec<Cause>) {
        match place {
            Place::Static(_) => {}
            Place::Field(base, _) => self.null(at, *base, causes),
            Place::Element(base, index) => {
                self.null(at, *base, causes);
                if !self.within.contains(&at) {
                    causes.push(one(self.known.index, &[*base, *index]));
                }
            }
        }
    }

    fn is_instance(&self, object: usize, class: Name) -> bool {
        let own = &self.solver.objects[object];
        let text = self.solver.classes.names.text(class);
        let is_lambda = own.lambda.is_some() && own.class == class;
        object != OPAQUE.index()
            && (text == "java/lang/Object"
                || own.class == class
                || is_lambda
                || self.solver.classes.above(own.class).contains(&class)
                || self.solver.models.is(self.solver.classes.names.text(own.class), text))
    }

    /// Whether arrays surely take a value: of numbers, or of a class that the value has.
    fn fits(&self, frame: FrameId, array: Value, value: Value) -> bool {
        let names = &self.solver.classes.names;
        self.solver.refers(frame, array).iter().all(|array| {
            let text = names.text(self.solver.objects[array].class);
            match text.strip_prefix('[').map(|inner| (inner, inner.strip_prefix('L'))) {
                Some((_, Some(class))) => {
                    let class = class.trim_end_matches(';');
                    class == "java/lang/Object"
                        || names.get(class).is_some_and(|class| {
                            self.solver.refers(frame, value).iter().all(|object| self.is_instance(object, class))
                        })
                }
                Some((inner, None)) => {
                    !inner.starts_with('[')
                        || self
                            .solver
                            .refers(frame, value)
                            .iter()
                            .all(|object| names.text(self.solver.objects[object].class) == inner)
                }
                None => false,
            }
        })
    }

    fn call(&self, at: Point, causes: &mut Vec<Cause>) {
        let Some(call) = self.solver.call_at(at) else { return };
        let has_receiver = matches!(call.how, How::Special | How::Virtual);
        if let Some(receiver) = call.arguments.first().filter(|_| has_receiver) {
            self.null(at, *receiver, causes);
        }
        let callees: Vec<FrameId> = self.solver.callees.get(&at).into_iter().flatten().copied().collect();
        if !callees.is_empty() {
            causes.push(Cause { callees, ..Cause::default() });
        }
        for used in self.solver.used.get(&at).into_iter().flatten() {
            self.library(at, used, causes);
        }
        // What a task threw comes out where it is waited for.
        let used = || self.solver.used.get(&at).into_iter().flatten();
        if used().any(|one| one.model.has(Word::Join) && one.model.has(Word::Gives) || one.model.has(Word::Joins)) {
            let tasks = self.tasks(at, call.arguments.first().copied());
            let wrapped = used().find_map(|one| self.said(&one.model));
            causes.push(Cause { tasks, wrapped: wrapped.unwrap_or_else(Thrown::any), ..Cause::default() });
        }
    }

    /// What the threads run that a call waits for, or gets the results of.
    pub fn tasks(&self, at: Point, receiver: Option<Value>) -> Vec<FrameId> {
        let started = self.solver.started.get(&at).into_iter().flatten().copied();
        let objects = receiver.map(|receiver| self.solver.objects_of(at.frame, receiver)).unwrap_or_default();
        let mut threads: BTreeSet<ThreadId> = started.collect();
        for object in objects {
            match gathered(self.solver, object) {
                Some(parts) => threads.extend(parts.into_iter().flat_map(|part| threads_of(self.solver, part))),
                None if self.is_gathered(object) => {
                    let all = (0..self.solver.threads.len() as u32).map(ThreadId);
                    let is_task = |one: &ThreadId| matches!(self.solver.threads[one.index()].birth, Birth::Task(..));
                    threads.extend(all.filter(is_task));
                }
                None => threads.extend(threads_of(self.solver, object)),
            }
        }
        threads.into_iter().flat_map(|thread| self.solver.threads[thread.index()].entries.clone()).collect()
    }

    /// A future that stands for others, which are not known.
    fn is_gathered(&self, object: ObjectId) -> bool {
        let Origin::Site(method, pc, _) = self.solver.objects[object.index()].origin else { return false };
        self.solver.used.iter().any(|(at, used)| {
            self.solver.frames[at.frame.index()].method == method
                && self.solver.statement_at(*at).pc == pc
                && used.iter().any(|one| one.model.has(Word::Gathers) || one.model.has(Word::Choice))
        })
    }

    fn library(&self, at: Point, used: &Used, causes: &mut Vec<Cause>) {
        let model = &used.model;
        let Some(call) = self.solver.call_at(at) else { return };
        let is_interrupted = self.interrupts.may(self.solver.frames[at.frame.index()].thread);
        if is_interrupted && model.waits() {
            let classes = [self.known.interrupted, self.known.broken].into();
            causes.push(Cause { thrown: Thrown { classes, any: false }, chosen: true, ..Cause::default() });
        }
        // A limit that runs out, a task that is refused.
        let gives_up = model.has(Word::Join) && model.has(Word::Gives) && !self.solver.waits_for_good(at);
        let refuses = model.has(Word::Refuses) || model.has(Word::Cancels);
        let is_closed = model.has(Word::Submit) && !self.closes.is_empty();
        if gives_up || refuses || is_closed {
            let beside = |threads: &Threads| self.closes.iter().any(|one| threads.parallel(self.solver, *one, at));
            let chosen = gives_up || refuses || self.threads.is_none_or(beside);
            let thrown = self.said(model).unwrap_or_else(Thrown::any);
            causes.push(Cause { thrown, chosen, ..Cause::default() });
        }
        let is_quiet = [Word::Safe, Word::Join, Word::Sleeps, Word::Await, Word::Submit, Word::Exit];
        // A barrier is given up with a limit, and by interrupts.
        let breaks = model.has(Word::Meets) && !self.solver.waits_for_good(at);
        if breaks {
            causes.push(Cause { thrown: Thrown::any(), chosen: true, ..Cause::default() });
        }
        let starts_again = model.has(Word::Start) && self.may_have_started(at);
        if starts_again {
            causes.push(Cause { thrown: Thrown::any(), chosen: true, ..Cause::default() });
        }
        if !is_quiet.into_iter().any(|word| model.has(word)) && !self.is_constructor_of_error(at) {
            let skipped = usize::from(matches!(call.how, How::Special | How::Virtual));
            let operands: Vec<Value> = call.arguments.iter().copied().skip(skipped).collect();
            let is_guarded = model.has(Word::Steps) && self.follows_question(at, call) || self.is_below_size(at, call);
            let thrown = self.said(model).unwrap_or_else(Thrown::any);
            match model.has(Word::NotNull) {
                true => self.any_null(at, operands, causes),
                false if is_guarded => causes.push(Cause { thrown, meanwhile: true, ..Cause::default() }),
                // What is added to decides about nothing.
                false => causes.push(Cause { thrown, operands, held: !model.has(Word::Sum), ..Cause::default() }),
            }
        }
    }

    /// A thread that other statements may have started already; not if each starts one that it has just made.
    fn may_have_started(&self, at: Point) -> bool {
        let receiver = |at: Point| self.solver.call_at(at).and_then(|call| call.arguments.first().copied());
        let Some(own) = receiver(at) else { return false };
        let objects = self.solver.refers(at.frame, own);
        let is_new =
            |at: Point, one: Value| matches!(self.code(at.frame).def(self.code(at.frame).plain(one)), Def::New(_));
        let again = |other: &Point| {
            let same = receiver(*other).is_none_or(|one| {
                self.solver.refers(other.frame, one).iter().any(|object| objects.contains(object))
                    && !(is_new(at, own) && is_new(*other, one))
            });
            other.frame != at.frame && same
        };
        let mut threads = self.solver.started.get(&at).into_iter().flatten();
        threads.any(|thread| self.solver.threads[thread.index()].starts.iter().any(again))
    }

    /// `next()` right after `hasNext()` said yes.
    fn follows_question(&self, at: Point, call: &Call) -> bool {
        let body = &self.solver.frames[at.frame.index()].body;
        let Some(iterator) = call.arguments.first().map(|one| body.code.plain(*one)) else { return false };
        let name = |call: &Call| self.solver.classes.names.text(call.method.name);
        let is_on = |call: &Call| call.arguments.first().is_some_and(|one| body.code.plain(*one) == iterator);
        let mut before = &body.code.blocks[at.block as usize].statements[..at.index as usize];
        let mut block = at.block;
        loop {
            let steps = |one: &Statement| matches!(&one.kind, Kind::Call(other) if is_on(other));
            let &[above] = &body.graph.predecessors[block as usize][..] else { return false };
            let own = &body.code.blocks[above];
            if before.iter().any(steps) || own.caught_by().any(|to| to == block) {
                return false;
            }
            let asked = match own.statements.last().map(|last| &last.kind) {
                Some(Kind::Branch(Test::Ne, answer, None)) if own.next.first() == Some(&block) => Some(*answer),
                Some(Kind::Branch(Test::Eq, answer, None)) if own.next.get(1) == Some(&block) => Some(*answer),
                _ => None,
            };
            let is_question = |one: &Statement| match &one.kind {
                Kind::Call(other) => {
                    other.to == asked && is_on(other) && matches!(name(other), "hasNext" | "hasMoreElements")
                }
                _ => false,
            };
            if asked.is_some() && own.statements.iter().any(is_question) {
                return own.next.len() == 2 && own.next[0] != own.next[1];
            }
            (before, block) = (&own.statements[..], above as Block);
        }
    }

    /// `list.get(i)` in a loop over `i < list.size()`.
    fn is_below_size(&self, at: Point, call: &Call) -> bool {
        let body = &self.solver.frames[at.frame.index()].body;
        let (&[list, index], "get") = (&call.arguments[..], self.solver.classes.names.text(call.method.name)) else {
            return false;
        };
        let (code, graph) = (&body.code, &body.graph);
        let index = code.plain(index);
        let mut loops = graph.loops.iter().filter(|one| one.blocks.contains(&at.block) && one.head != at.block);
        loops.any(|around| {
            let counts = induction(code, around, index).is_some_and(|(first, step)| first >= 0 && step > 0);
            let bound = head_test(code, around).and_then(|test| bound_of(code, test, index));
            let mut calls = code.blocks[around.head as usize].statements.iter().filter_map(|one| match &one.kind {
                Kind::Call(other) => Some(other),
                _ => None,
            });
            counts
                && calls.any(|other| {
                    let same = |one: &Value| {
                        let objects = self.solver.objects_of(at.frame, *one);
                        let single = |object| self.threads.is_some_and(|all| all.is_single(self.solver, object));
                        code.plain(*one) == code.plain(list)
                            || matches!(objects[..], [object] if single(object))
                                && objects == self.solver.objects_of(at.frame, list)
                    };
                    other.to == bound
                        && self.solver.classes.names.text(other.method.name) == "size"
                        && other.arguments.first().is_some_and(same)
                })
        })
    }

    /// What a model says that is thrown, if it says anything.
    fn said(&self, model: &Model) -> Option<Thrown> {
        let classes = model.throws.iter().filter_map(|class| self.solver.classes.names.get(class));
        (!model.throws.is_empty()).then(|| Thrown { classes: classes.collect(), any: false })
    }

    /// Exceptions are made without any.
    fn is_constructor_of_error(&self, at: Point) -> bool {
        self.solver.call_at(at).is_some_and(|call| {
            let class = self.solver.classes.names.text(call.method.class);
            class.ends_with("Exception") || class.ends_with("Error")
        })
    }
}

fn one(class: Name, operands: &[Value]) -> Cause {
    let thrown = Thrown { classes: [class].into(), any: false };
    Cause { thrown, operands: operands.to_vec(), ..Cause::default() }
}

fn is_null(code: &Code, value: Value) -> bool {
    matches!(code.constant(code.plain(value)), Some(Constant::Null))
}
