//! Code that others run: threads, tasks, callbacks of the library, and whatever unknown code may call.

use std::rc::Rc;

use reweave_jvm::classfile::access;

use super::classes::MethodId;
use super::code::{Call, How, Name};
use super::models::{Model, Word};
use super::solve::{Birth, OPAQUE, ObjectId, Origin, Point, Solver, ThreadId, Watch};

const BRIDGE: u16 = 0x40;

/// Methods whose results the library goes on with.
const WALKS: [&str; 7] = ["iterator", "listIterator", "spliterator", "entrySet", "keySet", "values", "next"];

/// Of interfaces that function objects have.
const FUNCTIONS: [&str; 6] = ["get", "apply", "accept", "test", "run", "call"];

impl Solver<'_> {
    pub(super) fn start(&mut self, at: Point, object: ObjectId) {
        let creator = self.frames[at.frame.index()].thread;
        let thread = self.thread(Birth::Started(object), Some(creator));
        self.threads[thread.index()].starts.insert(at);
        self.started.entry(at).or_default().insert(thread);
        if object == OPAQUE {
            return self.not_understood(at, "a thread whose code is not known".to_owned());
        }
        let target = self.field_node(object, self.target);
        let class = self.objects[object.index()].class;
        let (run, nothing) = (self.classes.names.add("run"), self.classes.names.add("()V"));
        if let Some(method) = self.classes.dispatch(class, run, nothing) {
            return self.entry(at, thread, method, object);
        }
        // A task that is forked.
        if let Some(method) = self.methods_named(object, "compute").first().copied() {
            self.entry(at, thread, method, object);
            self.returns_into(thread, object);
            return;
        }
        self.watch(target, Watch::Target(object, thread, at));
    }

    /// What a task returns is what it holds for those that join it.
    fn returns_into(&mut self, thread: ThreadId, object: ObjectId) {
        for entry in self.threads[thread.index()].entries.clone() {
            let (from, to) = (self.return_node(entry), self.field_node(object, self.content));
            self.copy(from, to);
        }
    }

    /// Threads that a library method is given and starts.
    pub(super) fn starts_argument(&mut self, at: Point, object: ObjectId) {
        self.start(at, object);
    }

    /// What a thread without a `run` of its own was given.
    pub(super) fn runs(&mut self, _: ObjectId, thread: ThreadId, at: Point, target: ObjectId) {
        for method in self.methods_named(target, "run") {
            self.entry(at, thread, method, target);
        }
        let own = &self.objects[target.index()];
        let is_known = own.lambda.is_some() || self.classes.is_loaded(own.class);
        let is_text = matches!(own.origin, Origin::Constant(_));
        if target == OPAQUE || !is_known && !is_text {
            self.not_understood(at, "a thread whose code is not known".to_owned());
        }
    }

    /// Methods of an object by name, whatever their parameters are.
    fn methods_named(&self, object: ObjectId, name: &str) -> Vec<MethodId> {
        let own = &self.objects[object.index()];
        if let Some((method, stub)) = own.lambda {
            return (self.classes.names.text(method) == name).then_some(stub).into_iter().collect();
        }
        let Some(name) = self.classes.names.get(name) else { return Vec::new() };
        let mut found: Vec<MethodId> = Vec::new();
        for class in self.classes.line(own.class) {
            let Some(class) = self.classes.class(class) else { continue };
            for descriptor in &class.descriptors(name) {
                let Some(method) = self.classes.own_method(class.name, name, *descriptor) else { continue };
                let known = found.iter().any(|known| self.classes.method(*known).descriptor == *descriptor);
                let is_usable = self.classes.method(method).flags & (access::STATIC | access::ABSTRACT) == 0;
                if is_usable && !known {
                    found.push(method);
                }
            }
        }
        // Bridges only call the others.
        found.sort_by_key(|method| self.classes.method(*method).flags & BRIDGE != 0);
        found
    }

    fn entry(&mut self, at: Point, thread: ThreadId, method: MethodId, object: ObjectId) {
        let Some(frame) = self.frame(method, thread, Some(object)) else { return self.without_code(at, method) };
        if !self.threads[thread.index()].entries.contains(&frame) {
            self.threads[thread.index()].entries.push(frame);
        }
        if let Some(this) = self.frames[frame.index()].body.code.parameters.first().copied() {
            let node = self.value_node(frame, this);
            self.add_one(node, object);
        }
    }

    /// A task of an executor.
    pub(super) fn argument(&mut self, at: Point, object: ObjectId) {
        let pc = self.statement_at(at).pc;
        let own = &self.frames[at.frame.index()];
        let (creator, submitter) = (own.thread, own.method);
        let mut names: Vec<Rc<str>> = ["run", "call", "get", "compute"].map(Into::into).into();
        let models: Vec<Rc<Model>> = self.used.get(&at).into_iter().flatten().map(|used| used.model.clone()).collect();
        names.extend(models.iter().flat_map(|model| &model.calls).map(|name| name.as_str().into()));
        let found = names.iter().find_map(|name| self.methods_named(object, name).first().copied());
        let Some(method) = found else {
            if object == OPAQUE {
                self.not_understood(at, "a task whose code is not known".to_owned());
            }
            return;
        };
        let thread = self.thread(Birth::Task(object, submitter, pc), Some(creator));
        self.threads[thread.index()].starts.insert(at);
        self.started.entry(at).or_default().insert(thread);
        if models.iter().any(|model| model.has(Word::Often)) {
            self.often.insert(thread);
        }
        self.entry(at, thread, method, object);
        let Some(call) = self.call_at(at).cloned() else { return };
        self.task_arguments(at, thread, &call);
        let future = call.to;
        if let (Some(future), Some(entry)) = (future, self.threads[thread.index()].entries.first().copied()) {
            let (from, to) = (self.return_node(entry), self.value_node(at.frame, future));
            self.watch(to, Watch::Store(self.content, from));
        }
    }

    /// A stage or a part of a stream gets what the receiver and the arguments hold.
    fn task_arguments(&mut self, at: Point, thread: ThreadId, call: &Call) {
        for entry in self.threads[thread.index()].entries.clone() {
            let parameters = self.frames[entry.index()].body.code.parameters.clone();
            for parameter in parameters.into_iter().skip(1) {
                let to = self.value_node(entry, parameter);
                for argument in &call.arguments {
                    let from = self.value_node(at.frame, *argument);
                    self.watch(from, Watch::Load(self.content, to));
                    self.watch(from, Watch::Load(self.element, to));
                }
            }
        }
    }

    /// The library calls a method of an object it was given.
    pub(super) fn call_back(&mut self, at: Point, method: &Rc<str>, object: ObjectId) {
        if self.takes_no_function(at, method) {
            return;
        }
        for found in self.methods_named(object, method) {
            self.call_back_to(at, found, object);
        }
    }

    /// Methods of function objects are called only where one is asked for: `requireNonNull` of an object that happens to
    /// have a `get` does not call it.
    fn takes_no_function(&self, at: Point, method: &str) -> bool {
        let Some(call) = self.call_at(at).filter(|_| FUNCTIONS.contains(&method)) else { return false };
        let descriptor = self.classes.names.text(call.method.descriptor);
        let parameters = descriptor.split(')').next().unwrap_or_default();
        call.how == How::Static && parameters == "(Ljava/lang/Object;"
    }

    pub(super) fn call_back_to(&mut self, at: Point, found: MethodId, object: ObjectId) {
        let thread = self.frames[at.frame.index()].thread;
        let Some(frame) = self.frame(found, thread, Some(object)) else { return self.without_code(at, found) };
        self.frames[frame.index()].callers.insert(at);
        self.callees.entry(at).or_default().insert(frame);
        self.callbacks.insert(at);
        let Some(call) = self.call_at(at).cloned() else { return };
        let parameters = self.frames[frame.index()].body.code.parameters.clone();
        for (index, parameter) in parameters.into_iter().enumerate() {
            let to = self.value_node(frame, parameter);
            if index == 0 {
                self.add_one(to, object);
                continue;
            }
            for argument in &call.arguments {
                let from = self.value_node(at.frame, *argument);
                self.copy(from, to);
                self.watch(from, Watch::Load(self.content, to));
                self.watch(from, Watch::Load(self.element, to));
            }
        }
        let returned = self.return_node(frame);
        if WALKS.contains(&self.classes.names.text(self.classes.method(found).name)) {
            self.watch(returned, Watch::Walks(at));
        }
        if let Some(to) = call.to {
            let to = self.value_node(at.frame, to);
            self.copy(returned, to);
        }
        if let Some(receiver) = call.arguments.first() {
            let is_local = self.used.get(&at).into_iter().flatten().any(|one| one.model.has(Word::Local));
            let field = if is_local { self.local_field(thread) } else { self.content };
            let node = self.value_node(at.frame, *receiver);
            self.watch(node, Watch::Store(field, returned));
        }
    }

    /// What an object holds goes with it; unknown code may put anything into arrays and containers.
    fn leak(&mut self, object: ObjectId) {
        let held: Vec<u32> =
            self.field_nodes.iter().filter(|((own, _), _)| *own == object).map(|(_, node)| *node).collect();
        let all = self.field_node(OPAQUE, self.content);
        held.into_iter().for_each(|node| self.copy(node, all));
        for field in [self.content, self.element] {
            let node = self.field_node(object, field);
            self.copy(all, node);
            self.add_one(node, OPAQUE);
        }
        if self.blind {
            self.blind_fields(object);
        }
    }

    /// Code that may do anything may put anything into fields.
    fn blind_fields(&mut self, object: ObjectId) {
        let held: Vec<u32> =
            self.field_nodes.iter().filter(|((own, _), _)| *own == object).map(|(_, node)| *node).collect();
        let all = self.field_node(OPAQUE, self.content);
        for node in held {
            self.copy(all, node);
            self.add_one(node, OPAQUE);
        }
    }

    /// Something may do anything, as was found late: the objects that it may have are looked at again. Whether there
    /// were any.
    pub(super) fn spread_blindness(&mut self) -> bool {
        if !self.blind || std::mem::replace(&mut self.blinded, true) {
            return false;
        }
        let escaped: Vec<ObjectId> = self.escapes.iter().copied().collect();
        escaped.iter().for_each(|object| self.blind_fields(*object));
        !escaped.is_empty()
    }

    /// Code that is not understood has this object, and may call its methods.
    pub(super) fn escaped(&mut self, object: ObjectId) {
        if object == OPAQUE || !self.escapes.insert(object) {
            return;
        }
        self.leak(object);
        let own = &self.objects[object.index()];
        let is_called =
            |class: &Name| !self.classes.is_loaded(*class) && self.classes.names.text(*class) != "java/lang/Object";
        let mut methods: Vec<MethodId> = own.lambda.iter().map(|(_, stub)| *stub).collect();
        if own.lambda.is_none() && self.classes.above(own.class).iter().any(is_called) {
            let line = self.classes.line(own.class);
            let usable = access::STATIC | access::ABSTRACT | access::PRIVATE;
            let all = self.classes.methods.iter().enumerate().filter(|(_, method)| {
                line.contains(&method.class_name)
                    && method.flags & usable == 0
                    && !self.classes.names.text(method.name).starts_with('<')
            });
            methods.extend(all.map(|(at, _)| MethodId(at as u32)));
        }
        let thread = self.thread(Birth::Anywhere, None);
        let all = self.field_node(OPAQUE, self.content);
        for method in methods {
            let Some(frame) = self.frame(method, thread, Some(object)) else { continue };
            if self.threads[thread.index()].entries.contains(&frame) {
                continue;
            }
            self.threads[thread.index()].entries.push(frame);
            let returned = self.return_node(frame);
            self.copy(returned, all);
            for (index, parameter) in self.frames[frame.index()].body.code.parameters.clone().into_iter().enumerate() {
                let to = self.value_node(frame, parameter);
                if index == 0 {
                    self.add_one(to, object);
                } else {
                    self.add_one(to, OPAQUE);
                    self.copy(all, to);
                }
            }
        }
    }

    /// An object whose class says what to do when nobody refers to it any more: that may be done at any time.
    pub(super) fn finalised(&mut self, object: ObjectId) {
        let class = self.objects[object.index()].class;
        let (Some(name), Some(nothing)) = (self.classes.names.get("finalize"), self.classes.names.get("()V")) else {
            return;
        };
        let Some(method) = self.classes.dispatch(class, name, nothing) else { return };
        let thread = self.thread(Birth::Anywhere, None);
        let Some(frame) = self.frame(method, thread, Some(object)) else { return };
        if !self.threads[thread.index()].entries.contains(&frame) {
            self.threads[thread.index()].entries.push(frame);
        }
        if let Some(this) = self.frames[frame.index()].body.code.parameters.first().copied() {
            let node = self.value_node(frame, this);
            self.add_one(node, object);
        }
    }

    /// A class is used: its initialiser runs once, before.
    pub(super) fn initialise(&mut self, class: Name) {
        if !self.classes.is_loaded(class) || !self.initialised.insert(class) {
            return;
        }
        let known = self.classes.class(class);
        let is_interface = known.is_some_and(|class| class.file.is(access::INTERFACE));
        if let Some(parent) = known.and_then(|class| class.parent) {
            self.initialise(parent);
        }
        // Interfaces come before a class only if they have code for its objects (JLS 12.4.1).
        if !is_interface {
            for above in self.classes.above(class) {
                let interface = self.classes.class(above).is_some_and(|above| above.file.is(access::INTERFACE));
                if interface && self.classes.has_own_code(above) {
                    self.initialise(above);
                }
            }
        }
        let (name, descriptor) = (self.classes.names.add("<clinit>"), self.classes.names.add("()V"));
        let Some(method) = self.classes.own_method(class, name, descriptor) else { return };
        let of_main = self.main_line.contains(&class);
        let thread = if of_main { ThreadId::MAIN } else { self.thread(Birth::Initialiser(class), None) };
        match self.frame(method, thread, None) {
            Some(frame) => self.threads[thread.index()].entries.push(frame),
            None => {
                let class = self.classes.names.text(class).replace('/', ".");
                let what = format!("the initialiser of {class}");
                self.not_understood.entry((what, class)).or_default();
                self.blind = true;
            }
        }
    }
}
