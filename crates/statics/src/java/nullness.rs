//! References that are never null, whatever happens.
//!
//! A value may be null if something that it is computed from may be: null itself, what a field holds that is read
//! before it is filled, what the library gives. Lattice: sets of values that may be null, by inclusion. Found without
//! the order of the code, except that a value was looked at, or tested, before ([`Nullness::was_used`]).

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use reweave_jvm::classfile::access;

use super::accesses::Fresh;
use super::calls::is_library;
use super::classes::{FieldId, MethodId};
use super::code::{Block, Call, Code, Constant, Def, How, Kind, Name, Place, Statement, Test, Value};
use super::models::Word;
use super::solve::{Birth, FrameId, OPAQUE, ObjectId, Point, Solver, Used};
use crate::bits::Bits;

pub struct Nullness<'s, 'a> {
    solver: &'s Solver<'a>,
    /// Where fields are stored to.
    stores: HashMap<FieldId, Vec<Point>>,
    /// Fields that hold something before anybody but their makers can read them.
    filled: RefCell<HashMap<FieldId, bool>>,
    /// Values that may be null, by frame.
    values: Vec<Bits>,
    /// Fields that null may be stored to.
    fields: HashSet<FieldId>,
    /// Frames that may return null.
    returns: Bits,
    /// Library objects that may hold null.
    contents: Bits,
}

impl<'s, 'a> Nullness<'s, 'a> {
    pub fn new(solver: &'s Solver<'a>) -> Self {
        let mut stores: HashMap<FieldId, Vec<Point>> = HashMap::new();
        for at in solver.points() {
            if let Kind::Store(Place::Static(member) | Place::Field(_, member), _) = &solver.statement_at(at).kind
                && let Some(field) = solver.classes.known_field(*member)
            {
                stores.entry(field).or_default().push(at);
            }
        }
        let mut nullness = Self {
            solver,
            stores,
            filled: RefCell::default(),
            values: vec![Bits::default(); solver.frames.len()],
            fields: HashSet::new(),
            returns: Bits::default(),
            contents: Bits::default(),
        };
        while (0..solver.frames.len() as u32).fold(false, |any, frame| nullness.frame(FrameId(frame)) | any) {}
        nullness
    }

    /// Whether a value that is used at a point cannot be null there.
    pub fn is_never_null(&self, at: Point, value: Value) -> bool {
        !self.values[at.frame.index()].contains(value.index()) || self.was_used(at, value)
    }

    fn code(&self, frame: FrameId) -> &'s Code {
        &self.solver.frames[frame.index()].body.code
    }

    /// Whether more may be null.
    fn frame(&mut self, frame: FrameId) -> bool {
        let body = self.solver.frames[frame.index()].body.clone();
        let mut grew = false;
        for at in 0..body.code.values.len() {
            if !self.values[frame.index()].contains(at) && self.may_be(frame, Value(at as u32)) {
                self.values[frame.index()].insert(at);
                grew = true;
            }
        }
        for (block, code) in body.code.blocks.iter().enumerate().filter(|(at, _)| body.graph.reached[*at]) {
            for (index, statement) in code.statements.iter().enumerate() {
                let at = Point { frame, block: block as Block, index: index as u32 };
                match &statement.kind {
                    Kind::Store(Place::Static(member) | Place::Field(_, member), value) => {
                        if let Some(field) = self.solver.classes.known_field(*member)
                            && !self.is_never_null(at, *value)
                        {
                            grew |= self.fields.insert(field);
                        }
                    }
                    Kind::Call(call) if matches!(call.how, How::Lambda { .. }) => {
                        for (index, value) in call.arguments.iter().enumerate() {
                            if let Some(field) = self.solver.classes.captured_field(index)
                                && !self.is_never_null(at, *value)
                            {
                                grew |= self.fields.insert(field);
                            }
                        }
                    }
                    Kind::Call(call) => grew |= self.library(at, call),
                    Kind::Return(Some(value)) if !self.is_never_null(at, *value) => {
                        grew |= self.returns.insert(frame.index());
                    }
                    _ => {}
                }
            }
        }
        grew
    }

    /// What library objects get at a call; whether more of them may hold null.
    fn library(&mut self, at: Point, call: &Call) -> bool {
        let mut grew = false;
        let skipped = usize::from(call.how != How::Static);
        for used in self.solver.used.get(&at).cloned().into_iter().flatten() {
            let has = |word: Word| used.model.has(word);
            let given = || call.arguments.iter().skip(skipped);
            let mut null = has(Word::Keeps) && given().any(|one| !self.is_never_null(at, *one));
            // Elements of arrays may be null, and what functions return.
            null |= has(Word::Fills) || has(Word::Copies) && given().any(|one| self.may_hold_null(at.frame, *one));
            null |= !used.model.calls.is_empty() && has(Word::Keeps);
            let mut into: Vec<ObjectId> = used.receiver.into_iter().collect();
            if has(Word::Copies) || has(Word::Keeps) {
                let receivers = call.arguments.first().filter(|_| skipped == 1);
                null |= has(Word::Fresh) && receivers.is_some_and(|one| self.may_hold_null(at.frame, *one));
                into.extend(call.to.iter().flat_map(|to| self.solver.objects_of(at.frame, *to)));
            }
            if null {
                for object in into {
                    let shown = self.shown(object);
                    grew |= self.contents.insert(object.index());
                    shown.into_iter().for_each(|object| grew |= self.contents.insert(object.index()));
                }
            }
        }
        grew
    }

    /// What a view shows.
    fn shown(&self, object: ObjectId) -> Vec<ObjectId> {
        let node = self.solver.field_nodes.get(&(object, self.solver.of));
        node.map(|node| self.solver.points_to[*node as usize].iter().map(|at| ObjectId(at as u32)).collect())
            .unwrap_or_default()
    }

    fn may_hold_null(&self, frame: FrameId, value: Value) -> bool {
        let is_array =
            |one: &ObjectId| self.solver.classes.names.text(self.solver.objects[one.index()].class).starts_with('[');
        let holds =
            |one: &ObjectId| is_array(one) || self.contents.contains(one.index()) || self.solver.escapes.contains(one);
        let mut all = self.solver.objects_of(frame, value).into_iter();
        all.any(|object| object == OPAQUE || holds(&object) || self.shown(object).iter().any(holds))
    }

    fn may_be(&self, frame: FrameId, value: Value) -> bool {
        let code = self.code(frame);
        let is = |other: Value| self.values[frame.index()].contains(other.index());
        match code.def(value) {
            Def::New(_) | Def::Array(..) | Def::Caught | Def::Undefined => false,
            Def::Constant(constant) => !matches!(constant, Constant::Text(_) | Constant::Class(_)),
            Def::Cast(value, _) => is(*value),
            Def::Phi(all) => all.iter().any(|(from, one)| is(*one) && !self.is_tested(frame, *from, value, *one)),
            Def::Parameter(index) => self.is_parameter_null(frame, *index),
            Def::Load(Place::Static(member) | Place::Field(_, member)) => {
                let Some(field) = self.solver.classes.known_field(*member) else { return true };
                let own = self.solver.classes.fields[field.0 as usize];
                // `System.out`, `TimeUnit.SECONDS`.
                let is_static = matches!(code.def(value), Def::Load(Place::Static(_)));
                let of_library = is_library(self.solver.classes.names.text(own.class));
                !(is_static && of_library)
                    && (self.solver.blind || self.fields.contains(&field) || !self.is_filled(field, frame))
            }
            Def::Result => self.is_result_null(frame, value),
            _ => true,
        }
    }

    /// An operand of a phi that comes over an edge on which it is known not to be null.
    fn is_tested(&self, frame: FrameId, from: Block, phi: Value, value: Value) -> bool {
        let code = self.code(frame);
        let to = code.values[phi.index()].block;
        let own = &code.blocks[from as usize];
        !own.caught_by().any(|handler| handler == to)
            && (is_not_null_on(code, from, to, value)
                || self.was_used(Point { frame, block: from, index: own.statements.len() as u32 }, value))
    }

    fn is_parameter_null(&self, frame: FrameId, index: u32) -> bool {
        let own = &self.solver.frames[frame.index()];
        let method = self.solver.classes.method(own.method);
        if index == 0 && method.flags & access::STATIC == 0 {
            return false;
        }
        let is_entry = self.solver.threads[own.thread.index()].entries.contains(&frame);
        if is_entry || own.callers.iter().any(|caller| self.solver.callbacks.contains(caller)) {
            return true;
        }
        own.callers.iter().any(|caller| {
            let argument = self.solver.call_at(*caller).and_then(|call| call.arguments.get(index as usize).copied());
            argument.is_none_or(|argument| !self.is_never_null(*caller, argument))
        })
    }

    /// Whether a field holds something other than its first null before anybody but its maker reads it.
    fn is_filled(&self, field: FieldId, reader: FrameId) -> bool {
        let own = self.solver.classes.fields[field.0 as usize];
        if self.solver.classes.captured_index(field).is_some() {
            return true;
        }
        let reads_early = {
            let frame = &self.solver.frames[reader.index()];
            let method = self.solver.classes.method(frame.method);
            let name = self.solver.classes.names.text(method.name);
            let of_class = matches!(self.solver.threads[frame.thread.index()].birth, Birth::Initialiser(_));
            // An initialiser, or what it calls, may be there before its field is.
            name == "<init>" || name == "<clinit>" || of_class
        };
        if reads_early || !self.solver.classes.is_loaded(own.class) {
            return false;
        }
        if let Some(known) = self.filled.borrow().get(&field) {
            return *known;
        }
        let is_static = own.flags & access::STATIC != 0;
        let filled = if is_static { self.is_static_filled(field) } else { self.is_object_filled(field) };
        self.filled.borrow_mut().insert(field, filled);
        filled
    }

    fn is_static_filled(&self, field: FieldId) -> bool {
        let own = self.solver.classes.fields[field.0 as usize];
        let makers: Vec<FrameId> = self.frames_of(|method| {
            let method = self.solver.classes.method(method);
            method.class_name == own.class && self.solver.classes.names.text(method.name) == "<clinit>"
        });
        let is_first = self.solver.main_line.contains(&own.class);
        !makers.is_empty()
            && makers.iter().all(|frame| {
                // Whoever runs while it does may find nothing there: what it calls itself, and classes that need each
                // other.
                self.stores_always(field, *frame, None) && (is_first || !self.is_entangled(*frame))
            })
    }

    /// An initialiser that runs code of other classes, which may come back to its own.
    fn is_entangled(&self, frame: FrameId) -> bool {
        let below = self.solver.below(frame);
        let own = self.solver.classes.method(self.solver.frames[frame.index()].method).class_name;
        below.iter().any(|frame| {
            let method = self.solver.classes.method(self.solver.frames[frame.index()].method);
            method.class_name != own && !self.solver.classes.names.text(method.name).starts_with("<init>")
        })
    }

    fn is_object_filled(&self, field: FieldId) -> bool {
        let own = self.solver.classes.fields[field.0 as usize];
        let makers: Vec<FrameId> = self.frames_of(|method| {
            let method = self.solver.classes.method(method);
            method.class_name == own.class && self.solver.classes.names.text(method.name) == "<init>"
        });
        let fresh = Fresh { solver: self.solver };
        !makers.is_empty()
            && makers.iter().all(|frame| {
                let Some(this) = self.code(*frame).parameters.first().copied() else { return false };
                let hands_on = self.hands_on(*frame, this, own.class);
                !fresh.is_given_away(*frame, this) && (hands_on || self.stores_always(field, *frame, Some(this)))
            })
    }

    /// A constructor that calls another one of its class first.
    fn hands_on(&self, frame: FrameId, this: Value, class: Name) -> bool {
        let code = self.code(frame);
        let statements = code.blocks.iter().flat_map(|block| &block.statements);
        let mut calls = statements.filter_map(|one| match &one.kind {
            Kind::Call(call) if call.how == How::Special && call.arguments.first() == Some(&this) => Some(call),
            _ => None,
        });
        calls.any(|call| call.method.class == class && self.solver.classes.names.text(call.method.name) == "<init>")
    }

    fn frames_of(&self, is_meant: impl Fn(MethodId) -> bool) -> Vec<FrameId> {
        let frames = self.solver.frames.iter().enumerate();
        frames.filter(|(_, frame)| is_meant(frame.method)).map(|(at, _)| FrameId(at as u32)).collect()
    }

    /// Whether a frame never ends without having stored to a field (of `this`).
    fn stores_always(&self, field: FieldId, frame: FrameId, this: Option<Value>) -> bool {
        let body = &self.solver.frames[frame.index()].body;
        let is_own = |at: &Point| match &self.solver.statement_at(*at).kind {
            Kind::Store(Place::Field(base, _), _) => this == Some(body.code.plain(*base)),
            _ => this.is_none(),
        };
        let stores = self.stores.get(&field).into_iter().flatten().copied();
        let own: Vec<Point> = stores.filter(|at| at.frame == frame && is_own(at)).collect();
        let mut ends = body.code.blocks.iter().enumerate().filter(|(at, block)| {
            body.graph.reached[*at] && matches!(block.statements.last().map(|last| &last.kind), Some(Kind::Return(_)))
        });
        ends.all(|(end, _)| own.iter().any(|at| body.graph.dominates(at.block, end as Block)))
    }

    fn is_result_null(&self, frame: FrameId, value: Value) -> bool {
        let code = self.code(frame);
        let block = code.values[value.index()].block;
        let statements = &code.blocks[block as usize].statements;
        let found = statements.iter().enumerate().find_map(|(index, one)| match &one.kind {
            Kind::Call(call) if call.to == Some(value) => Some((Point { frame, block, index: index as u32 }, &**call)),
            _ => None,
        });
        let Some((at, call)) = found else { return true };
        if matches!(call.how, How::Lambda { .. } | How::Concat) {
            return false;
        }
        let used = self.solver.used.get(&at).map_or(&[][..], |used| &used[..]);
        let callees = self.solver.callees.get(&at);
        if used.is_empty() && callees.is_none() || used.iter().any(|one| self.may_give_null(frame, call, one)) {
            return true;
        }
        let called_back = self.solver.callbacks.contains(&at);
        callees.into_iter().flatten().any(|callee| !called_back && self.returns.contains(callee.index()))
    }

    fn may_give_null(&self, frame: FrameId, call: &Call, used: &Used) -> bool {
        let model = &used.model;
        if [Word::Fresh, Word::View, Word::This, Word::Current].into_iter().any(|word| model.has(word)) {
            return false;
        }
        if model.has(Word::Opaque) || model.has(Word::Nullable) {
            return true;
        }
        if model.has(Word::Gives) {
            // The result of a task is what its method returns.
            let of_task = model.has(Word::Join);
            return of_task || call.arguments.first().is_none_or(|one| self.may_hold_null(frame, *one));
        }
        let skipped = usize::from(call.how != How::Static);
        let may_be = |one: &Value| self.values[frame.index()].contains(one.index());
        model.has(Word::Argument) && call.arguments.iter().skip(skipped).any(may_be)
    }

    /// Whether every way to a point looks into the object before, or finds that it is not null.
    pub fn was_used(&self, at: Point, value: Value) -> bool {
        let body = &self.solver.frames[at.frame.index()].body;
        let value = body.code.plain(value);
        let uses = |statement: &Statement| uses_object(&body.code, &statement.kind, value);
        let here = body.code.blocks[at.block as usize].statements.iter().take(at.index as usize);
        if here.into_iter().any(uses) {
            return true;
        }
        let mut block = at.block;
        while let Some(above) = body.graph.dominator(block) {
            if body.graph.predecessors[block as usize] == [above as usize]
                && is_not_null_on(&body.code, above, block, value)
            {
                return true;
            }
            // The statement must have been passed: a handler is reached when it was not.
            let own = &body.code.blocks[above as usize];
            if own.statements.iter().any(uses) && !own.caught_by().any(|to| reaches(&body.code, to, at.block)) {
                return true;
            }
            block = above;
        }
        false
    }
}

/// Whether an edge is taken only if a value is not null.
fn is_not_null_on(code: &Code, from: Block, to: Block, value: Value) -> bool {
    let own = &code.blocks[from as usize];
    if own.next.len() != 2 || own.next[0] == own.next[1] {
        return false;
    }
    let holds = own.next[0] == to;
    match own.statements.last().map(|last| &last.kind) {
        Some(Kind::Branch(test, tested, None)) if code.plain(*tested) == code.plain(value) => {
            matches!((test, holds), (Test::Ne, true) | (Test::Eq, false))
        }
        _ => false,
    }
}

/// Whether a statement fails if a value is null.
fn uses_object(code: &Code, kind: &Kind, value: Value) -> bool {
    let is = |other: &Value| code.plain(*other) == value;
    match kind {
        Kind::Define(defined) => match code.def(*defined) {
            Def::Load(Place::Field(base, _) | Place::Element(base, _)) | Def::Length(base) => is(base),
            _ => false,
        },
        Kind::Store(Place::Field(base, _) | Place::Element(base, _), _) => is(base),
        Kind::Enter(object) => is(object),
        Kind::Call(call) => matches!(call.how, How::Special | How::Virtual) && call.arguments.first().is_some_and(is),
        _ => false,
    }
}

/// Whether there is a way from one block to another.
fn reaches(code: &Code, from: Block, to: Block) -> bool {
    let mut seen = vec![false; code.blocks.len()];
    let mut rest = vec![from];
    while let Some(at) = rest.pop() {
        if at == to {
            return true;
        }
        if !std::mem::replace(&mut seen[at as usize], true) {
            let own = &code.blocks[at as usize];
            rest.extend(own.next.iter().copied().chain(own.caught_by()));
        }
    }
    false
}
