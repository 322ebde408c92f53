//! Programs without a `main`: methods that others may call at any time.
//!
//! A made-up `main` makes one object of every class that has such methods, then starts threads that call them, any
//! number of each, in any order: every entry may run in parallel with itself and with the others, on the shared
//! objects. What they are given are inputs; objects that they are given may be the same for several of them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use reweave_jvm::classfile::{access, decode_text};

use super::answer::NoAnswer;
use super::classes::{Body, Classes, MethodId};
use super::code::{
    Block, BlockCode, Call, Code, Constant, Def, How, Info, Kind, Member, Name, Place, Statement, Test, Value,
};

/// Kinds of method handles (JVMS 5.4.3.5).
const INVOKE_VIRTUAL: u8 = 5;
const INVOKE_STATIC: u8 = 6;

const HIDDEN: u16 = access::ABSTRACT | access::PRIVATE;
const SYNTHETIC: u16 = 0x1000;

/// A method that others call, on objects of a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    class: Name,
    method: MethodId,
}

/// The methods of these names (`Class.method`, or `method` alone); without names, all public methods of public classes.
pub fn find(classes: &Classes<'_>, wanted: &[String]) -> Result<Vec<Entry>, NoAnswer> {
    let all: Vec<Entry> = classes.all.iter().flat_map(|class| of_class(classes, class.name)).collect();
    if wanted.is_empty() {
        let is_public = |entry: &&Entry| {
            let class = classes.class(entry.class).is_some_and(|class| class.file.is(access::PUBLIC));
            class && classes.method(entry.method).flags & access::PUBLIC != 0
        };
        return Ok(all.iter().filter(is_public).copied().collect());
    }
    let mut found = BTreeSet::new();
    for name in wanted {
        let before = found.len();
        found.extend(all.iter().copied().filter(|entry| fits(classes, *entry, name)));
        if found.len() == before {
            return Err(NoAnswer::Usage(format!("no method that could be called is named `{name}`")));
        }
    }
    Ok(found.into_iter().collect())
}

/// `org.bank.Account.deposit`.
pub fn name(classes: &Classes<'_>, entry: Entry) -> String {
    let class = classes.names.text(entry.class).replace(['/', '$'], ".");
    format!("{class}.{}", classes.names.text(classes.method(entry.method).name))
}

fn fits(classes: &Classes<'_>, entry: Entry, wanted: &str) -> bool {
    let name = name(classes, entry);
    name == wanted || name.strip_suffix(wanted).is_some_and(|before| before.ends_with('.'))
}

/// What can be called on an object of a class, or without one.
fn of_class(classes: &Classes<'_>, class: Name) -> Vec<Entry> {
    let Some(own) = classes.class(class) else { return Vec::new() };
    let can_be_made = !own.file.is(access::ABSTRACT) && !own.file.is(access::INTERFACE);
    let line = classes.line(class);
    let mut signatures = BTreeSet::new();
    let mut all = Vec::new();
    for at in line {
        for (index, method) in classes.methods.iter().enumerate().filter(|(_, method)| method.class_name == at) {
            let is_static = method.flags & access::STATIC != 0;
            let is_special = classes.names.text(method.name).starts_with('<') || method.flags & SYNTHETIC != 0;
            let usable = if is_static { at == class } else { can_be_made };
            let fresh = signatures.insert((method.name, method.descriptor));
            if usable && fresh && !is_special && method.flags & HIDDEN == 0 {
                all.push(Entry { class, method: MethodId(index as u32) });
            }
        }
    }
    all
}

/// Adds a `main` that lets all entries be called.
pub fn add_main(classes: &mut Classes<'_>, entries: &[Entry]) -> Option<MethodId> {
    let beside = entries.first()?.method;
    let mut maker = Maker { classes, code: Code::default(), at: 0, pc: 0, wanted: BTreeMap::new() };
    maker.everything(entries);
    let code = maker.code;
    Some(classes.add_method(beside, Rc::new(Body::new(code, vec![(0, 0)]))))
}

/// Adds a `main` that makes an object and calls its own `main` (Java 25).
pub fn add_launcher(classes: &mut Classes<'_>, class: Name, main: MethodId) -> MethodId {
    let mut maker = Maker { classes, code: Code::default(), at: 0, pc: 0, wanted: BTreeMap::new() };
    maker.code.blocks = vec![BlockCode::default()];
    let arguments = maker.value(Def::Parameter(0));
    maker.code.parameters = vec![arguments];
    let object = maker.object(class, arguments);
    let method = maker.classes.method(main);
    let called = Member { class, name: method.name, descriptor: method.descriptor };
    let takes = !maker.classes.parameter_types(called.descriptor).is_empty();
    let given = [object].into_iter().chain(takes.then_some(arguments)).collect();
    maker.call(None, How::Virtual, called, given);
    maker.push(Kind::Return(None));
    let code = maker.code;
    classes.add_method(main, Rc::new(Body::new(code, vec![(0, 0)])))
}

struct Maker<'m, 'a> {
    classes: &'m mut Classes<'a>,
    code: Code,
    /// The block that statements go to.
    at: Block,
    pc: u32,
    /// Types of which objects are made, and whether that was done.
    wanted: BTreeMap<String, bool>,
}

impl Maker<'_, '_> {
    fn everything(&mut self, entries: &[Entry]) {
        self.code.blocks = vec![BlockCode::default(); 7];
        let argument = self.value(Def::Parameter(0));
        self.code.parameters = vec![argument];
        let length = self.input();
        let array = self.name("[Ljava/lang/Object;");
        let pool = self.define(Def::Array(array, vec![length]));
        self.jump(1);
        // What entries may be given, any number of each.
        let _ = self.go(1, &[2, 3]);
        self.at = 2;
        for entry in entries {
            self.want(self.classes.method(entry.method).descriptor);
            let constructor = self.name("<init>");
            let made = self.classes.class(entry.class).map(|class| class.descriptors(constructor));
            made.unwrap_or_default().into_iter().for_each(|descriptor| self.want(descriptor));
            for (_, kind) in self.public_fields(entry.class) {
                self.wanted.entry(kind).or_insert(false);
            }
        }
        while let Some(kind) = self.wanted.iter().find(|(_, done)| !**done).map(|(kind, _)| kind.clone()) {
            self.wanted.insert(kind.clone(), true);
            self.given(&kind, pool);
        }
        self.jump(1);
        self.at = 3;
        let shared = self.shared(entries, pool);
        self.jump(4);
        let _ = self.go(4, &[5, 6]);
        self.at = 5;
        for entry in entries {
            self.start(*entry, &shared, pool);
        }
        self.jump(4);
        self.at = 6;
        self.push(Kind::Return(None));
    }

    /// One object of every class.
    fn shared(&mut self, entries: &[Entry], pool: Value) -> BTreeMap<Name, Value> {
        let mut shared = BTreeMap::new();
        for entry in entries {
            let is_static = self.classes.method(entry.method).flags & access::STATIC != 0;
            if !is_static && !shared.contains_key(&entry.class) {
                let object = self.object(entry.class, pool);
                // Whoever makes it may put something else there.
                for (field, kind) in self.public_fields(entry.class) {
                    let value = self.argument(&kind, pool);
                    self.push(Kind::Store(Place::Field(object, field), value));
                }
                shared.insert(entry.class, object);
            }
        }
        for object in shared.values().copied().collect::<Vec<_>>() {
            let place = self.input();
            self.push(Kind::Store(Place::Element(pool, place), object));
        }
        shared
    }

    /// Fields of a class that others may set, with their types; references only.
    fn public_fields(&mut self, class: Name) -> Vec<(Member, String)> {
        let Some(own) = self.classes.class(class) else { return Vec::new() };
        let usable = |flags: u16| flags & access::PUBLIC != 0 && flags & (access::STATIC | access::FINAL) == 0;
        let text = |at: u16| own.file.pool.utf8(at).map(decode_text).ok();
        let fields = own.file.fields.iter().filter(|field| usable(field.access));
        let all: Vec<(String, String)> =
            fields.filter_map(|field| Some((text(field.name)?, text(field.descriptor)?))).collect();
        let references = all.into_iter().filter(|(_, kind)| kind.starts_with(['L', '[']));
        references
            .map(|(name, kind)| {
                let (name, descriptor) = (self.classes.names.add(&name), self.classes.names.add(&kind));
                (Member { class, name, descriptor }, kind)
            })
            .collect()
    }

    fn start(&mut self, entry: Entry, shared: &BTreeMap<Name, Value>, pool: Value) {
        let method = self.classes.method(entry.method);
        let (name, descriptor, flags) = (method.name, method.descriptor, method.flags);
        let is_static = flags & access::STATIC != 0;
        let mut captured: Vec<Value> = shared.get(&entry.class).filter(|_| !is_static).copied().into_iter().collect();
        for kind in self.classes.parameter_types(descriptor) {
            captured.push(self.argument(&kind, pool));
        }
        let implementation = Member { class: entry.class, name, descriptor };
        let kind = if is_static { INVOKE_STATIC } else { INVOKE_VIRTUAL };
        let run = self.name("run");
        let how = How::Lambda { method: run, implementation, kind };
        let made = self.member("", "run", "()Ljava/lang/Runnable;");
        let body = self.value(Def::Result);
        self.call(Some(body), how, made, captured);
        let thread = self.name("java/lang/Thread");
        let thread = self.define(Def::New(thread));
        let constructor = self.member("java/lang/Thread", "<init>", "(Ljava/lang/Runnable;)V");
        self.call(None, How::Special, constructor, vec![thread, body]);
        let start = self.member("java/lang/Thread", "start", "()V");
        self.call(None, How::Virtual, start, vec![thread]);
    }

    /// A new object, with all its constructors.
    fn object(&mut self, class: Name, pool: Value) -> Value {
        let object = self.define(Def::New(class));
        let constructor = self.name("<init>");
        let descriptors = self.classes.class(class).map(|class| class.descriptors(constructor)).unwrap_or_default();
        let is_hidden = |classes: &Classes<'_>, descriptor: Name| {
            let method = classes.own_method(class, constructor, descriptor);
            method.is_none_or(|method| classes.method(method).flags & access::PRIVATE != 0)
        };
        let all_hidden = descriptors.iter().all(|descriptor| is_hidden(self.classes, *descriptor));
        for descriptor in descriptors {
            if is_hidden(self.classes, descriptor) && !all_hidden {
                continue;
            }
            let mut arguments = vec![object];
            for kind in self.classes.parameter_types(descriptor) {
                arguments.push(self.argument(&kind, pool));
            }
            self.call(None, How::Special, Member { class, name: constructor, descriptor }, arguments);
        }
        object
    }

    /// Objects of a type go to the pool.
    fn given(&mut self, kind: &str, pool: Value) {
        let made: Vec<Value> = match kind.strip_prefix('L').and_then(|kind| kind.strip_suffix(';')) {
            Some(class) => {
                let class = self.name(class);
                let mut below: Vec<Name> = self.classes.below(class).into_iter().collect();
                below.retain(|one| self.classes.class(*one).is_none_or(|class| !class.file.is(access::ABSTRACT)));
                match below.is_empty() {
                    // Whoever calls has a class of his own.
                    true => vec![self.value(Def::Constant(Constant::Dynamic))],
                    false => below.into_iter().map(|class| self.object(class, pool)).collect(),
                }
            }
            None => {
                let array = self.name(kind);
                let length = self.input();
                if let Some(inner) = kind.strip_prefix('[').filter(|inner| inner.starts_with(['L', '['])) {
                    self.wanted.entry(inner.to_owned()).or_insert(false);
                }
                let made = self.define(Def::Array(array, vec![length]));
                if let Some(inner) = kind.strip_prefix('[').filter(|inner| inner.starts_with(['L', '['])) {
                    let (element, place) = (self.argument(inner, pool), self.input());
                    self.push(Kind::Store(Place::Element(made, place), element));
                }
                vec![made]
            }
        };
        for object in made {
            let place = self.input();
            self.push(Kind::Store(Place::Element(pool, place), object));
        }
    }

    fn want(&mut self, descriptor: Name) {
        for kind in self.classes.parameter_types(descriptor).into_iter().filter(|kind| kind.starts_with(['L', '['])) {
            self.wanted.entry(kind).or_insert(false);
        }
    }

    /// Something of a type: an input, or what the pool has.
    fn argument(&mut self, kind: &str, pool: Value) -> Value {
        if !kind.starts_with(['L', '[']) {
            return self.input();
        }
        self.wanted.entry(kind.to_owned()).or_insert(false);
        let place = self.input();
        let any = self.define(Def::Load(Place::Element(pool, place)));
        let class = self.name(kind.strip_prefix('L').map_or(kind, |class| class.trim_end_matches(';')));
        self.value(Def::Cast(any, class))
    }

    fn input(&mut self) -> Value {
        let time = self.member("java/lang/System", "nanoTime", "()J");
        let value = self.value(Def::Result);
        self.call(Some(value), How::Static, time, Vec::new());
        value
    }

    fn name(&mut self, text: &str) -> Name {
        self.classes.names.add(text)
    }

    fn member(&mut self, class: &str, name: &str, descriptor: &str) -> Member {
        Member { class: self.name(class), name: self.name(name), descriptor: self.name(descriptor) }
    }

    fn value(&mut self, def: Def) -> Value {
        self.code.values.push(Info { def, block: self.at, pc: self.pc });
        Value(self.code.values.len() as u32 - 1)
    }

    fn define(&mut self, def: Def) -> Value {
        let value = self.value(def);
        self.push(Kind::Define(value));
        value
    }

    fn call(&mut self, to: Option<Value>, how: How, method: Member, arguments: Vec<Value>) {
        self.push(Kind::Call(Box::new(Call { to, how, method, arguments })));
    }

    /// Every statement has a place of its own: objects and threads are told apart by it.
    fn push(&mut self, kind: Kind) {
        self.code.blocks[self.at as usize].statements.push(Statement { pc: self.pc, kind });
        self.pc += 1;
    }

    fn jump(&mut self, to: Block) {
        self.push(Kind::Jump);
        self.code.blocks[self.at as usize].next = vec![to];
    }

    /// An input decides how it goes on.
    fn go(&mut self, at: Block, next: &[Block]) -> Value {
        self.at = at;
        let decides = self.input();
        let zero = self.value(Def::Constant(Constant::Whole(0)));
        self.push(Kind::Branch(Test::Le, decides, Some(zero)));
        self.code.blocks[at as usize].next = next.to_vec();
        decides
    }
}
