//! Reads and writes of memory, the program's own and those inside library objects, by location.
//!
//! A location is a static field, a field of an abstract object, all elements of an array, or all that a library object
//! holds. An access *initialises* if nobody else can have the object yet: it comes before every other access to the
//! same object, in every execution.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reweave_jvm::classfile::access;

use super::classes::FieldId;
use super::code::{Def, How, Kind, Name, Place, Value};
use super::initialisers::entangled;
use super::models::{Model, Word};
use super::solve::{Birth, FrameId, OPAQUE, ObjectId, Origin, Point, Solver};
use super::threads::Threads;
use crate::bits::Bits;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    Static(FieldId),
    Field(ObjectId, FieldId),
}

#[derive(Clone, Debug)]
pub struct Access {
    pub at: Point,
    pub location: Location,
    pub reads: bool,
    pub writes: bool,
    /// The object, as a value of the frame.
    pub base: Option<Value>,
    pub index: Option<Value>,
    /// What is written, if that is one value.
    pub value: Option<Value>,
    pub initialises: bool,
    /// Inside the library.
    pub library: bool,
    /// The library object that keeps threads apart that access this through it.
    pub guard: Option<ObjectId>,
    /// An atomic sum.
    pub sum: bool,
    pub volatile: bool,
}

#[derive(Default)]
pub struct Accesses {
    pub all: Vec<Access>,
    pub by_location: BTreeMap<Location, Vec<usize>>,
    pub by_point: HashMap<Point, Vec<usize>>,
    /// Fields that are accessed through something nobody knows.
    pub unknown_fields: BTreeSet<FieldId>,
    /// Loads of that kind.
    pub unknown_loads: BTreeSet<Point>,
    /// Objects that code that is not understood may have.
    pub unknown_objects: Bits,
    pub unknown_statics: bool,
    /// Classes whose initialisers need each other.
    entangled: BTreeSet<Name>,
}

impl Accesses {
    pub fn new(solver: &Solver<'_>, threads: &Threads) -> Self {
        let mut accesses = Self { entangled: entangled(solver), ..Self::default() };
        let fresh = Fresh { solver };
        for at in solver.points().filter(|at| threads.is_reached(*at)) {
            accesses.statement(solver, &fresh, at);
        }
        accesses.find_unknown(solver);
        accesses
    }

    fn add(&mut self, solver: &Solver<'_>, mut access: Access) {
        access.initialises |= self.is_by_initialiser(solver, &access);
        let index = self.all.len();
        self.by_location.entry(access.location).or_default().push(index);
        self.by_point.entry(access.at).or_default().push(index);
        self.all.push(access);
    }

    fn statement(&mut self, solver: &Solver<'_>, fresh: &Fresh<'_, '_>, at: Point) {
        let code = solver.code(at);
        let (place, value) = match &solver.statement_at(at).kind {
            Kind::Define(value) => match code.def(*value) {
                Def::Load(place) => (place, None),
                _ => return,
            },
            Kind::Store(place, value) => (place, Some(*value)),
            Kind::Call(_) => return self.library(solver, fresh, at),
            _ => return,
        };
        let (reads, writes) = (value.is_none(), value.is_some());
        let plain = Access {
            at,
            location: Location::Static(solver.content),
            reads,
            writes,
            base: None,
            index: None,
            value,
            initialises: false,
            library: false,
            guard: None,
            sum: false,
            volatile: false,
        };
        let (base, field, index) = match place {
            Place::Static(member) => {
                let Some(field) = solver.classes.known_field(*member) else { return };
                let volatile = solver.classes.fields[field.0 as usize].flags & access::VOLATILE != 0;
                return self.add(solver, Access { location: Location::Static(field), volatile, ..plain });
            }
            Place::Field(base, member) => (*base, solver.classes.known_field(*member), None),
            Place::Element(base, index) => (*base, Some(solver.element), Some(*index)),
        };
        let Some(field) = field else { return };
        let objects = solver.objects_of(at.frame, base);
        if objects.is_empty() || objects.contains(&OPAQUE) {
            self.unknown_loads.insert(at);
            if writes {
                self.unknown_fields.insert(field);
            }
        }
        let initialises = writes && fresh.is_fresh(at, base);
        let volatile = solver.classes.fields[field.0 as usize].flags & access::VOLATILE != 0;
        for object in objects.into_iter().filter(|object| *object != OPAQUE) {
            let location = Location::Field(object, field);
            let base = Some(code.plain(base));
            self.add(solver, Access { location, base, index, initialises, volatile, ..plain.clone() });
        }
    }

    /// What the initialiser of a class does to its own fields and to objects it makes comes before everybody else.
    fn is_by_initialiser(&self, solver: &Solver<'_>, access: &Access) -> bool {
        let thread = solver.frames[access.at.frame.index()].thread;
        let Birth::Initialiser(class) = solver.threads[thread.index()].birth else { return false };
        let starts = solver.started.iter().any(|(at, _)| solver.frames[at.frame.index()].thread == thread);
        let alone = !self.entangled.contains(&class);
        match access.location {
            // Threads that it starts wait for it, too.
            Location::Static(field) => solver.classes.fields[field.0 as usize].class == class && alone,
            Location::Field(object, _) => solver.objects[object.index()].thread == thread && alone && !starts,
        }
    }

    /// What library calls and function objects do.
    fn library(&mut self, solver: &Solver<'_>, fresh: &Fresh<'_, '_>, at: Point) {
        let Some(call) = solver.call_at(at) else { return };
        let plain = Access {
            at,
            location: Location::Static(solver.content),
            reads: false,
            writes: true,
            base: None,
            index: None,
            value: None,
            initialises: true,
            library: true,
            guard: None,
            sum: false,
            volatile: false,
        };
        if let (How::Lambda { .. }, Some(to)) = (call.how, call.to) {
            for object in solver.objects_of(at.frame, to) {
                for (index, value) in call.arguments.iter().enumerate() {
                    let Some(field) = solver.classes.captured_field(index) else { continue };
                    let location = Location::Field(object, field);
                    self.add(solver, Access { location, value: Some(*value), ..plain.clone() });
                }
            }
            return;
        }
        let has_receiver = matches!(call.how, How::Special | How::Virtual);
        let is_constructor = solver.classes.names.text(call.method.name) == "<init>";
        self.made(solver, at, &plain);
        let first = solver.used.get(&at).and_then(|used| used.iter().find_map(|one| one.receiver));
        for used in solver.used.get(&at).into_iter().flatten() {
            let model = &used.model;
            if let Some(object) = used.receiver.filter(|object| *object != OPAQUE) {
                let on = call.arguments.first().copied().filter(|_| has_receiver);
                let base = on.map(|on| solver.code(at).plain(on));
                let initialises = is_constructor && on.is_some_and(|on| fresh.is_fresh(at, on));
                let parent = solver.classes.library_parent(solver.objects[object.index()].class);
                let class = parent.unwrap_or(solver.objects[object.index()].class);
                let is_safe = solver.models.is_threadsafe(solver.classes.names.text(class));
                let guard = is_safe.then_some(object);
                let own = Access { base, initialises, guard, volatile: is_safe, ..plain.clone() };
                let given = is_constructor && call.arguments.len() > 1;
                self.held(solver, own, model, object, (!is_constructor, given));
            }
            if used.receiver.is_none() || used.receiver == first {
                for argument in call.arguments.iter().skip(usize::from(has_receiver)) {
                    let own = Access { initialises: false, base: Some(*argument), ..plain.clone() };
                    self.contents(solver, own, model, *argument);
                }
            }
        }
    }

    /// A library call fills what it makes.
    fn made(&mut self, solver: &Solver<'_>, at: Point, plain: &Access) {
        let Some(to) = solver.call_at(at).and_then(|call| call.to) else { return };
        let (method, pc) = (solver.frames[at.frame.index()].method, solver.statement_at(at).pc);
        for object in solver.objects_of(at.frame, to) {
            match solver.objects[object.index()].origin {
                Origin::Site(own, made, 100..) if own == method && made == pc && holds_something(solver, object) => {
                    // What the library says of its class need not be all: `clone` returns an `Object`.
                    for field in [solver.content, solver.element] {
                        self.add(solver, Access { location: Location::Field(object, field), ..plain.clone() });
                    }
                }
                _ => {}
            }
        }
    }

    /// What a receiver holds, or what it shows. Every method may read it, and a constructor keeps what it gets.
    fn held(
        &mut self,
        solver: &Solver<'_>,
        plain: Access,
        model: &Model,
        object: ObjectId,
        (reads, given): (bool, bool),
    ) {
        let writes = model.has(Word::Writes) || model.has(Word::Keeps) || model.has(Word::Sum) || given;
        let silent = [Word::Start, Word::Join, Word::Wait, Word::Lock, Word::Unlock, Word::Submit, Word::Interrupt];
        let reads = reads && (model.has(Word::Gives) || !silent.into_iter().any(|word| model.has(word)));
        let sum = model.has(Word::Sum);
        if !holds_something(solver, object) {
            return;
        }
        let is_array = solver.classes.names.text(solver.objects[object.index()].class).starts_with('[');
        let thread = solver.frames[plain.at.frame.index()].thread;
        let local = solver.local_fields.get(&thread).filter(|_| model.has(Word::Local));
        let own = Location::Field(object, local.copied().unwrap_or(solver.content));
        if !is_array && (reads || writes || model.has(Word::Steps)) {
            let writes = writes || model.has(Word::Steps);
            self.add(solver, Access { location: own, reads, writes, sum, ..plain.clone() });
        }
        if is_array && model.has(Word::Copies) {
            let location = Location::Field(object, solver.element);
            self.add(solver, Access { location, reads: true, writes: false, ..plain.clone() });
        }
        if reads || writes {
            for location in shown_by(solver, object) {
                self.add(solver, Access { location, reads, writes, base: None, ..plain.clone() });
            }
        }
    }

    /// What arguments hold: elements of arrays, contents of others.
    fn contents(&mut self, solver: &Solver<'_>, plain: Access, model: &Model, argument: Value) {
        let (at, fills) = (plain.at, model.has(Word::Fills));
        for object in solver.objects_of(at.frame, argument).into_iter().filter(|object| *object != OPAQUE) {
            if !holds_something(solver, object) {
                continue;
            }
            let is_array = solver.classes.names.text(solver.objects[object.index()].class).starts_with('[');
            let field = if is_array { solver.element } else { solver.content };
            let location = Location::Field(object, field);
            self.add(solver, Access { location, reads: true, writes: fills, ..plain.clone() });
            for location in shown_by(solver, object) {
                self.add(solver, Access { location, reads: true, writes: fills, base: None, ..plain.clone() });
            }
        }
    }

    fn find_unknown(&mut self, solver: &Solver<'_>) {
        self.unknown_statics = solver.blind || solver.gave_up;
        let mut rest: Vec<usize> = solver
            .field_nodes
            .get(&(OPAQUE, solver.content))
            .map(|node| solver.points_to[*node as usize].iter().collect())
            .unwrap_or_default();
        if self.unknown_statics {
            rest.extend(solver.static_nodes.values().flat_map(|node| solver.points_to[*node as usize].iter()));
        }
        let mut fields: HashMap<usize, Vec<u32>> = HashMap::new();
        for ((object, _), node) in &solver.field_nodes {
            fields.entry(object.index()).or_default().push(*node);
        }
        while let Some(object) = rest.pop() {
            if self.unknown_objects.insert(object) {
                for node in fields.get(&object).into_iter().flatten() {
                    rest.extend(solver.points_to[*node as usize].iter());
                }
            }
        }
    }

    /// Whether something that is not understood may touch a location.
    pub fn is_unknown(&self, location: Location) -> bool {
        match location {
            Location::Static(field) => self.unknown_statics || self.unknown_fields.contains(&field),
            Location::Field(object, field) => {
                self.unknown_objects.contains(object.index()) || self.unknown_fields.contains(&field)
            }
        }
    }
}

/// What a view shows: contents of other objects, elements of arrays.
fn shown_by<'s>(solver: &'s Solver<'_>, view: ObjectId) -> impl Iterator<Item = Location> + 's {
    let of = solver.field_nodes.get(&(view, solver.of));
    of.into_iter().flat_map(|of| solver.points_to[*of as usize].iter()).map(|shown| {
        let object = ObjectId(shown as u32);
        let is_array = solver.classes.names.text(solver.objects[shown].class).starts_with('[');
        Location::Field(object, if is_array { solver.element } else { solver.content })
    })
}

/// Classes whose objects never change.
const VALUES: [&str; 14] = [
    "java/lang/String",
    "java/lang/CharSequence",
    "java/lang/Integer",
    "java/lang/Long",
    "java/lang/Short",
    "java/lang/Byte",
    "java/lang/Character",
    "java/lang/Boolean",
    "java/lang/Double",
    "java/lang/Float",
    "java/lang/Number",
    "java/lang/Class",
    "java/math/BigInteger",
    "java/math/BigDecimal",
];

/// Arrays and library objects; no texts, function objects and objects of plain classes.
fn holds_something(solver: &Solver<'_>, object: ObjectId) -> bool {
    let own = &solver.objects[object.index()];
    let parent = solver.classes.library_parent(own.class).unwrap_or(own.class);
    let plain = solver.classes.is_loaded(own.class) && solver.classes.names.text(parent) == "java/lang/Object";
    let is_object =
        solver.classes.names.text(own.class) == "java/lang/Object" && matches!(own.origin, Origin::Site(_, _, 0));
    // A text, a class; not what the library keeps for the whole program.
    let is_constant = match own.origin {
        Origin::Constant(name) => !solver.classes.names.text(name).starts_with("state of "),
        _ => false,
    };
    let is_value = VALUES.contains(&solver.classes.names.text(own.class));
    own.lambda.is_none() && !is_constant && !plain && !is_object && !is_value
}

/// Objects that nobody else can have yet.
pub struct Fresh<'s, 'a> {
    pub solver: &'s Solver<'a>,
}

impl Fresh<'_, '_> {
    pub fn is_fresh(&self, at: Point, base: Value) -> bool {
        let own = &self.solver.frames[at.frame.index()];
        let code = &own.body.code;
        let base = code.plain(base);
        match code.def(base) {
            Def::Parameter(0) => {
                let method = self.solver.classes.method(own.method);
                self.solver.classes.names.text(method.name) == "<init>"
                    && !self.leaks(at.frame, base, &mut BTreeSet::new())
            }
            Def::New(_) | Def::Array(..) => {
                let block = &code.blocks[at.block as usize].statements[..at.index as usize];
                let made = block.iter().position(|one| matches!(one.kind, Kind::Define(value) if value == base));
                let Some(made) = made else { return false };
                (made + 1..at.index as usize).all(|index| {
                    let point = Point { index: index as u32, ..at };
                    !self.gives_away(point, base, &mut BTreeSet::new())
                })
            }
            _ => false,
        }
    }

    /// Whether a frame may give a value to anybody else.
    pub fn is_given_away(&self, frame: FrameId, value: Value) -> bool {
        self.leaks(frame, value, &mut BTreeSet::new())
    }

    fn leaks(&self, frame: FrameId, value: Value, seen: &mut BTreeSet<(FrameId, Value)>) -> bool {
        if !seen.insert((frame, value)) {
            return false;
        }
        if seen.len() > 64 {
            return true;
        }
        let code = &self.solver.frames[frame.index()].body.code;
        let in_phi = code.values.iter().any(|info| match &info.def {
            Def::Phi(all) => all.iter().any(|(_, one)| code.plain(*one) == value),
            _ => false,
        });
        in_phi
            || code.blocks.iter().enumerate().any(|(block, inside)| {
                (0..inside.statements.len()).any(|index| {
                    self.gives_away(Point { frame, block: block as u32, index: index as u32 }, value, seen)
                })
            })
    }

    fn gives_away(&self, at: Point, value: Value, seen: &mut BTreeSet<(FrameId, Value)>) -> bool {
        let code = &self.solver.frames[at.frame.index()].body.code;
        let is = |other: &Value| code.plain(*other) == value;
        match &self.solver.statement_at(at).kind {
            Kind::Store(_, stored) => is(stored),
            Kind::Return(Some(returned)) => is(returned),
            Kind::Throw(thrown) => is(thrown),
            Kind::Call(call) => {
                if !call.arguments.iter().any(is) {
                    return false;
                }
                let harmless = |one: &super::solve::Used| {
                    let words = [Word::Start, Word::Submit, Word::Opaque, Word::Runs];
                    let other = call.arguments.iter().skip(1).any(is) || call.how == How::Static;
                    !words.into_iter().any(|word| one.model.has(word)) && !other
                };
                let library = self.solver.used.get(&at).into_iter().flatten().all(harmless);
                let is_lambda = matches!(call.how, How::Lambda { .. } | How::Unknown);
                let mut callees = self.solver.callees.get(&at).into_iter().flatten();
                !library
                    || is_lambda
                    || callees.any(|callee| {
                        let parameters = self.solver.frames[callee.index()].body.code.parameters.clone();
                        call.arguments
                            .iter()
                            .zip(parameters)
                            .any(|(argument, parameter)| is(argument) && self.leaks(*callee, parameter, seen))
                    })
            }
            _ => false,
        }
    }
}
