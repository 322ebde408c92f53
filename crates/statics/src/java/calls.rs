//! Calls: of the program's own methods, of function objects, and of the library as its models say.

use std::collections::BTreeSet;
use std::rc::Rc;

use reweave_jvm::classfile::access;

use super::classes::MethodId;
use super::code::{Call, Code, How, Kind, Member, Name, Value};
use super::library::FRESH;
use super::models::{Model, Word};
use super::solve::{OPAQUE, ObjectId, Origin, Point, Solver, Used, Watch};
use super::stubs;

impl Solver<'_> {
    /// The call at a point.
    pub fn call_at(&self, at: Point) -> Option<&Call> {
        match &self.statement_at(at).kind {
            Kind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// What stands for a class as an object, if somebody names it.
    pub(super) fn class_constant(&self, class: Name) -> Option<Name> {
        self.classes.names.get(&format!("class {}", self.classes.names.text(class)))
    }

    pub(super) fn code(&self, at: Point) -> &Code {
        &self.frames[at.frame.index()].body.code
    }

    pub(super) fn call(&mut self, at: Point, call: &Call, pc: u32) {
        match call.how {
            How::Static => {
                self.initialise(call.method.class);
                match self.classes.dispatch(call.method.class, call.method.name, call.method.descriptor) {
                    Some(method) => self.invoke(at, method, None),
                    None => {
                        let class = self.classes.library_parent(call.method.class).unwrap_or(call.method.class);
                        self.library(at, None, class);
                    }
                }
            }
            How::Special | How::Virtual => {
                let own = self.classes.dispatch(call.method.class, call.method.name, call.method.descriptor);
                if own.is_none() && !self.is_abstract(call.method) {
                    let class = self.classes.library_parent(call.method.class).unwrap_or(call.method.class);
                    match self.is_stream(class) {
                        // What it does depends on whether it is parallel, which receivers say.
                        true => self.uses(at, Rc::new(Model::default()), None),
                        false => self.library(at, None, class),
                    }
                }
                let receiver = self.value_node(at.frame, call.arguments[0]);
                self.watch(receiver, Watch::Call(at));
            }
            How::Lambda { method, implementation, kind } => {
                self.initialise(implementation.class);
                self.function_object(at, call, pc, (method, implementation, kind));
            }
            How::Concat => {
                self.shows(at, &call.arguments);
                if let Some(to) = call.to {
                    let object = self.made(at, &Model::default(), FRESH);
                    let to = self.value_node(at.frame, to);
                    self.add_one(to, object);
                }
            }
            How::Unknown => {
                self.blind = true;
                self.not_understood(at, "a call site that is linked at run time".to_owned());
                self.opaque(at);
            }
        }
    }

    /// Declared in a loaded class without code: receivers say what runs.
    fn is_abstract(&self, method: Member) -> bool {
        self.classes.above(method.class).into_iter().any(|class| {
            self.classes
                .own_method(class, method.name, method.descriptor)
                .is_some_and(|found| self.classes.method(found).flags & access::ABSTRACT != 0)
        })
    }

    pub(super) fn not_understood(&mut self, at: Point, what: String) {
        let place = self.place(at);
        self.not_understood.entry((what, place)).or_default().insert(at);
    }

    /// `Bank.java:31`.
    pub fn place(&self, at: Point) -> String {
        let frame = &self.frames[at.frame.index()];
        let pc = self.statement_at(at).pc;
        let method = self.classes.method(frame.method);
        let class = &self.classes.all[method.class];
        let line = frame.body.line(pc);
        match (&class.source, line) {
            (Some(source), 1..) => format!("{source}:{line}"),
            (Some(source), _) => source.clone(),
            _ => self.classes.names.text(method.class_name).replace('/', "."),
        }
    }

    /// Calls a method with the arguments of a call; the receiver is one object.
    pub(super) fn invoke(&mut self, at: Point, method: MethodId, object: Option<ObjectId>) {
        let Some(call) = self.call_at(at).cloned() else { return };
        let own = &self.frames[at.frame.index()];
        let (thread, context) = (own.thread, object.or(own.receiver));
        let Some(frame) = self.frame(method, thread, context) else { return self.without_code(at, method) };
        self.frames[frame.index()].callers.insert(at);
        self.callees.entry(at).or_default().insert(frame);
        let parameters = self.frames[frame.index()].body.code.parameters.clone();
        for (index, (argument, parameter)) in call.arguments.iter().zip(parameters).enumerate() {
            let to = self.value_node(frame, parameter);
            match object {
                Some(object) if index == 0 => self.add_one(to, object),
                _ => {
                    let from = self.value_node(at.frame, *argument);
                    self.copy(from, to);
                }
            }
        }
        if let Some(to) = call.to {
            let (from, to) = (self.return_node(frame), self.value_node(at.frame, to));
            self.copy(from, to);
        }
    }

    pub(super) fn without_code(&mut self, at: Point, method: MethodId) {
        let why = match self.classes.body(method) {
            Some(Err(why)) => why,
            _ if self.classes.method(method).flags & access::ABSTRACT != 0 => return,
            _ => "it is native".to_owned(),
        };
        self.blind = true;
        let own = self.classes.method(method);
        let names = &self.classes.names;
        let what = format!("{}.{}: {why}", names.text(own.class_name).replace('/', "."), names.text(own.name));
        self.not_understood(at, what);
        self.opaque(at);
    }

    /// Anything may happen to what it gets.
    pub(super) fn opaque(&mut self, at: Point) {
        let Some(call) = self.call_at(at).cloned() else { return };
        self.uses(at, Rc::new(Model::opaque()), None);
        let all = self.field_node(OPAQUE, self.content);
        for argument in &call.arguments {
            let from = self.value_node(at.frame, *argument);
            self.copy(from, all);
        }
        if let Some(to) = call.to {
            let to = self.value_node(at.frame, to);
            self.add_one(to, OPAQUE);
            self.copy(all, to);
        }
    }

    fn uses(&mut self, at: Point, model: Rc<Model>, receiver: Option<ObjectId>) {
        let used = self.used.entry(at).or_default();
        if !used.iter().any(|known| known.receiver == receiver && known.model == model) {
            used.push(Used { model, receiver });
        }
    }

    /// A receiver of a call.
    pub(super) fn dispatch(&mut self, at: Point, object: ObjectId) {
        let Some(call) = self.call_at(at).cloned() else { return };
        let Member { class: declared, name, descriptor } = call.method;
        if call.how == How::Special {
            match self.classes.dispatch(declared, name, descriptor) {
                Some(method) => self.invoke(at, method, Some(object)),
                None => {
                    let class = self.classes.library_parent(declared).unwrap_or(declared);
                    self.library(at, Some(object), class);
                }
            }
            return;
        }
        if object == OPAQUE && self.is_stream(declared) {
            return self.opaque(at);
        }
        if object == OPAQUE {
            let possible: BTreeSet<MethodId> = self
                .classes
                .below(declared)
                .into_iter()
                .filter_map(|class| self.classes.dispatch(class, name, descriptor))
                .collect();
            if possible.is_empty() && self.classes.is_loaded(declared) {
                let class = self.classes.names.text(declared).replace('/', ".");
                let name = self.classes.names.text(name).to_owned();
                self.not_understood(at, format!("{class}.{name} of an object that is not known"));
                return self.opaque(at);
            }
            for method in possible {
                self.invoke(at, method, Some(OPAQUE));
            }
            // What a library object does that nobody knows is not known either, whatever its class is.
            if !self.classes.is_loaded(declared) {
                self.opaque(at);
            }
            return;
        }
        let own = &self.objects[object.index()];
        let (class, lambda) = (own.class, own.lambda);
        if let Some((method, stub)) = lambda
            && method == name
        {
            return self.invoke(at, stub, Some(object));
        }
        match self.classes.dispatch(class, name, descriptor) {
            Some(method) => self.invoke(at, method, Some(object)),
            None => {
                let parent = self.classes.library_parent(class).unwrap_or(class);
                let is_plain = self.classes.names.text(parent) == "java/lang/Object";
                let class = if is_plain && !self.classes.is_loaded(declared) { declared } else { parent };
                self.library(at, Some(object), class);
            }
        }
    }

    /// A function object: its one method is a stub that calls the implementation.
    fn function_object(&mut self, at: Point, call: &Call, pc: u32, (method, implementation, kind): (Name, Member, u8)) {
        let own = self.frames[at.frame.index()].method;
        let stub = match self.stubs.get(&(own, pc)) {
            Some(stub) => *stub,
            None => {
                let stub = stubs::add(&mut self.classes, own, call.arguments.len(), implementation, kind, pc);
                self.stubs.insert((own, pc), stub);
                stub
            }
        };
        let text = self.classes.names.text(call.method.descriptor);
        let interface = text.rsplit(')').next().unwrap_or_default();
        let interface = interface.trim_start_matches('L').trim_end_matches(';').to_owned();
        let class = self.classes.names.add(&interface);
        let object = self.object(Origin::Site(own, pc, 0), class, Some((at.frame, at.block)));
        self.objects[object.index()].lambda = Some((method, stub));
        for (index, argument) in call.arguments.iter().enumerate() {
            let field = stubs::captured(&mut self.classes, index);
            let (from, to) = (self.value_node(at.frame, *argument), self.field_node(object, field));
            self.copy(from, to);
        }
        if let Some(to) = call.to {
            let to = self.value_node(at.frame, to);
            self.add_one(to, object);
        }
    }

    /// A library method, on one receiver or whatever it is.
    fn library(&mut self, at: Point, receiver: Option<ObjectId>, class: Name) {
        let Some(call) = self.call_at(at).cloned() else { return };
        let method = self.classes.names.text(call.method.name).to_owned();
        let descriptor = self.classes.names.text(call.method.descriptor);
        let find = |class: Name| {
            let model = self.models.find(self.classes.names.text(class), &method, descriptor)?;
            Some((class, model))
        };
        let own = receiver.map_or(call.method.class, |object| self.objects[object.index()].class);
        // A default of an interface of the library.
        let inherited =
            || self.classes.above(own).into_iter().filter(|one| !self.classes.is_loaded(*one)).find_map(find);
        let Some((class, model)) = find(class).or_else(|| find(call.method.class)).or_else(inherited) else {
            let is_known = self.used.get(&at).is_some_and(|used| used.iter().any(|one| one.model.has(Word::Opaque)));
            if !is_known {
                let text = self.classes.names.text(class).to_owned();
                self.blind |= may_do_anything(&text);
                self.not_understood(at, format!("{}.{method}", text.replace('/', ".")));
                self.opaque(at);
            }
            return;
        };
        if let Some(why) = self.is_beyond(at, &call, &model) {
            self.not_understood(at, why.to_owned());
            return self.opaque(at);
        }
        if model.has(Word::Opaque) {
            self.blind |= may_do_anything(self.classes.names.text(class));
            self.not_understood(at, format!("{}.{method}", self.classes.names.text(class).replace('/', ".")));
            return self.opaque(at);
        }
        let receiver = match model.has(Word::Global) {
            true => Some(self.state_of(class)),
            false => receiver,
        };
        self.uses(at, model.clone(), receiver);
        let has_receiver = call.how != How::Static;
        let arguments: Vec<Value> = call.arguments.iter().copied().skip(usize::from(has_receiver)).collect();
        let result = call.to.map(|to| self.value_node(at.frame, to));
        self.returned(at, &model, receiver, &arguments, result);
        if let Some(object) = receiver {
            self.holds(at, &model, object, &arguments, result);
            self.overridden(at, object, class);
        }
        if receiver.is_none() {
            self.hand_over(at, &call, &model);
        }
        if model.has(Word::Fills) {
            self.fills(at, receiver, &arguments);
        }
        let compared = ["equals", "hashCode", "compareTo", "compare"].map(String::from);
        let mut back: Vec<&str> = model.calls.iter().map(String::as_str).collect();
        if model.has(Word::Compares) {
            back.extend(compared.iter().map(String::as_str));
        }
        if model.has(Word::Submit) {
            return self.submits(at, &model, &arguments);
        }
        for method in back {
            for argument in &arguments {
                let node = self.value_node(at.frame, *argument);
                self.watch(node, Watch::Callback(at, method.into()));
            }
            if let Some(object) = receiver {
                let node = self.field_node(object, self.content);
                self.watch(node, Watch::Callback(at, method.into()));
            }
        }
        if model.has(Word::Shows) {
            self.shows(at, &arguments);
            if let Some(object) = receiver {
                let node = self.field_node(object, self.content);
                self.watch(node, Watch::Callback(at, "toString".into()));
            }
        }
        if model.has(Word::Starts) {
            for argument in &arguments {
                let node = self.value_node(at.frame, *argument);
                self.watch(node, Watch::Starts(at));
            }
        }
    }

    /// Tasks that a library method is given, or that its arguments hold.
    fn submits(&mut self, at: Point, model: &Model, arguments: &[Value]) {
        for argument in arguments {
            let node = self.value_node(at.frame, *argument);
            self.watch(node, Watch::Argument(at));
            if model.has(Word::Each) {
                let held = self.node();
                self.watch(node, Watch::Load(self.element, held));
                self.watch(node, Watch::Load(self.content, held));
                self.watch(held, Watch::Argument(at));
            }
        }
    }

    fn shows(&mut self, at: Point, arguments: &[Value]) {
        for argument in arguments {
            let node = self.value_node(at.frame, *argument);
            self.watch(node, Watch::Callback(at, "toString".into()));
            // Also what arrays and containers hold.
            let held = self.node();
            self.watch(node, Watch::Load(self.element, held));
            self.watch(node, Watch::Load(self.content, held));
            self.watch(held, Watch::Callback(at, "toString".into()));
        }
    }
}

/// Whether a class is one of the Java library.
pub(super) fn is_library(class: &str) -> bool {
    class.starts_with("java/") || class.starts_with("javax/") || class.starts_with('[')
}

/// Whether code of a class may reach the program's classes by their names, or is part of the program and was not given.
fn may_do_anything(class: &str) -> bool {
    let by_name =
        ["java/lang/reflect/", "java/lang/invoke/", "java/lang/Class", "java/io/ObjectInput", "java/lang/Module"];
    !is_library(class) || by_name.iter().any(|prefix| class.starts_with(prefix))
}
