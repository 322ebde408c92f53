//! What the library may call of objects of the program that it gets: function objects that no model speaks of, and
//! methods that a class of the program overrides.

use super::classes::MethodId;
use super::code::{Call, How, Name};
use super::models::{Model, Word};
use super::solve::{OPAQUE, ObjectId, Point, Solver, Watch};

use reweave_jvm::classfile::access;

/// Library classes whose methods call nothing of classes that extend them, apart from what their models say.
const QUIET: [&str; 10] = [
    "java/lang/Object",
    "java/lang/Thread",
    "java/lang/Enum",
    "java/lang/Record",
    "java/lang/ThreadLocal",
    "java/util/TimerTask",
    "java/util/concurrent/ForkJoinTask",
    "java/util/concurrent/RecursiveTask",
    "java/util/concurrent/RecursiveAction",
    "java/util/concurrent/CountedCompleter",
];

/// Types of parameters whose objects the library only keeps, compares or shows.
const PLAIN: [&str; 6] = [
    "java/lang/Object",
    "java/lang/Comparable",
    "java/lang/Enum",
    "java/lang/Throwable",
    "java/lang/Thread",
    "java/util/concurrent/ForkJoinTask",
];

/// Types of parameters whose elements the library asks for.
const WALKED: [&str; 12] = [
    "java/lang/Iterable",
    "java/util/Collection",
    "java/util/List",
    "java/util/Set",
    "java/util/SortedSet",
    "java/util/Queue",
    "java/util/Deque",
    "java/util/Map",
    "java/util/SortedMap",
    "java/util/Iterator",
    "java/util/Enumeration",
    "java/lang/CharSequence",
];

impl Solver<'_> {
    /// Methods that loaded classes of an object have, if they extend or implement a library type that can be walked.
    fn walkable(&self, object: ObjectId) -> Vec<MethodId> {
        let own = &self.objects[object.index()];
        if own.lambda.is_some() || !self.classes.is_loaded(own.class) {
            return Vec::new();
        }
        let above = self.classes.above(own.class);
        let is_walked = |class: &Name| {
            let text = self.classes.names.text(*class);
            !self.classes.is_loaded(*class) && (text.starts_with("java/util/") || WALKED.contains(&text))
        };
        if !above.iter().any(is_walked) {
            return Vec::new();
        }
        let hidden = access::STATIC | access::ABSTRACT | access::PRIVATE;
        let methods = above.iter().flat_map(|class| self.classes.methods_of(*class));
        methods
            .filter(|(_, method)| method.flags & hidden == 0 && !self.classes.names.text(method.name).starts_with('<'))
            .map(|(id, _)| id)
            .collect()
    }

    /// A library call goes through an object of the program: by its methods, in ways that no model says.
    pub(super) fn walked(&mut self, at: Point, object: ObjectId) {
        if self.walkable(object).is_empty() {
            return;
        }
        let Some(call) = self.call_at(at) else { return };
        let class = self.classes.names.text(call.method.class).replace('/', ".");
        let name = self.classes.names.text(call.method.name).to_owned();
        self.not_understood(at, format!("{class}.{name} with a container of the program, whose methods it calls"));
        let all = self.field_node(OPAQUE, self.content);
        self.add_one(all, object);
    }

    /// What a callback returned for the library to walk on: its methods are called at the same point.
    pub(super) fn walks(&mut self, at: Point, object: ObjectId) {
        for method in self.walkable(object) {
            self.call_back_to(at, method, object);
        }
    }

    /// A library call with a model gets arguments.
    pub(super) fn hand_over(&mut self, at: Point, call: &Call, model: &Model) {
        let skipped = usize::from(call.how != How::Static);
        let types = self.classes.parameter_types(call.method.descriptor);
        for (argument, kind) in call.arguments.iter().skip(skipped).zip(&types) {
            let class = kind.strip_prefix('L').and_then(|kind| kind.strip_suffix(';'));
            if class.is_some_and(|class| WALKED.contains(&class)) {
                let node = self.value_node(at.frame, *argument);
                self.watch(node, Watch::WalkedBy(at));
            }
        }
        let speaks = [Word::Submit, Word::Starts, Word::Target, Word::Keeps, Word::Opaque];
        if speaks.into_iter().any(|word| model.has(word)) {
            return;
        }
        for (argument, kind) in call.arguments.iter().skip(skipped).zip(&types) {
            let Some(class) = kind.strip_prefix('L').and_then(|kind| kind.strip_suffix(';')) else { continue };
            // Classes of the program itself are no business of the library.
            if PLAIN.contains(&class) || self.classes.names.get(class).is_some_and(|name| self.classes.is_loaded(name))
            {
                continue;
            }
            let node = self.value_node(at.frame, *argument);
            self.watch(node, Watch::Given(at));
        }
    }

    /// An object is an argument of a library call that may call its methods.
    pub(super) fn given(&mut self, at: Point, object: ObjectId) {
        let own = &self.objects[object.index()];
        let method = match own.lambda {
            Some((method, _)) => Some(method),
            None if self.classes.is_loaded(own.class) => None,
            None => return,
        };
        let Some(call) = self.call_at(at).cloned() else { return };
        let is_called = |name: Name| {
            let name = self.classes.names.text(name);
            let compared = ["equals", "hashCode", "compareTo", "compare"].contains(&name);
            self.used.get(&at).into_iter().flatten().any(|one| {
                one.model.calls.iter().any(|called| called == name) || compared && one.model.has(Word::Compares)
            })
        };
        // Of an object with several methods the models say what is called, if they say anything.
        let is_known =
            match method {
                Some(method) => is_called(method),
                None => self.used.get(&at).into_iter().flatten().any(|one| {
                    !one.model.calls.is_empty() || one.model.has(Word::Compares) || one.model.has(Word::Shows)
                }),
            };
        if is_known {
            return;
        }
        let class = self.classes.names.text(call.method.class).replace('/', ".");
        let name = self.classes.names.text(call.method.name).to_owned();
        self.not_understood(at, format!("{class}.{name} with an object of the program, which it may call"));
        let all = self.field_node(OPAQUE, self.content);
        self.add_one(all, object);
    }

    /// A library method runs on an object whose class overrides others, which it may call.
    pub(super) fn overridden(&mut self, at: Point, object: ObjectId, parent: Name) {
        let own = &self.objects[object.index()];
        if own.lambda.is_some() || !self.classes.is_loaded(own.class) {
            return;
        }
        let text = self.classes.names.text(parent);
        let is_error = text.ends_with("Exception") || text.ends_with("Error") || text == "java/lang/Throwable";
        let is_constructor = self.call_at(at).is_none_or(|call| self.classes.names.text(call.method.name) == "<init>");
        if QUIET.contains(&text) || is_constructor {
            return;
        }
        let hidden = access::STATIC | access::ABSTRACT | access::PRIVATE;
        let shown = ["toString", "getMessage", "getLocalizedMessage", "getCause"];
        let mut found: Vec<MethodId> = Vec::new();
        for class in self.classes.line(own.class) {
            for (index, method) in self.classes.methods_of(class) {
                let name = self.classes.names.text(method.name);
                let usable = method.flags & hidden == 0 && !name.starts_with('<');
                if usable && (!is_error || shown.contains(&name)) {
                    found.push(index);
                }
            }
        }
        for method in found {
            self.call_back_to(at, method, object);
        }
    }
}
