//! What references refer to, who calls whom, and which threads there are: found together, because each needs the
//! others (inclusion-based points-to with the call graph on the fly).
//!
//! A **frame** is a method as one abstract thread runs it on one receiver object; an **object** is an allocation site
//! in a frame's thread and receiver. Lattice: sets of objects, by inclusion. More is sound, less precise. What comes from
//! code that nobody here understands is [`OPAQUE`]; whatever it may reach is `unknown` in the end.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::time::Instant;

use super::classes::{Body, Classes, FieldId, MethodId};
use super::code::{Block, Name, Value};
use super::models::{Model, Models};
use crate::bits::Bits;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

impl ObjectId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl FrameId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl ThreadId {
    pub const MAIN: Self = Self(0);

    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Made by code that is not understood.
pub const OPAQUE: ObjectId = ObjectId(0);

/// A statement in a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point {
    pub frame: FrameId,
    pub block: Block,
    pub index: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    Opaque,
    /// Method, pc, and which part: the dimension of an array, or what a library call makes.
    Site(MethodId, u32, u8),
    /// One for the whole program: a class, a text.
    Constant(Name),
    /// What `main` gets.
    Arguments,
}

pub struct Object {
    pub origin: Origin,
    pub class: Name,
    pub thread: ThreadId,
    pub receiver: Option<ObjectId>,
    /// Frames and blocks that make it.
    pub made: BTreeSet<(FrameId, Block)>,
    /// Of a function object: its method's name and the code.
    pub lambda: Option<(Name, MethodId)>,
}

pub struct Frame {
    pub method: MethodId,
    pub thread: ThreadId,
    pub receiver: Option<ObjectId>,
    pub body: Rc<Body>,
    pub callers: BTreeSet<Point>,
    /// First node of its values.
    base: u32,
}

/// How a thread comes about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Birth {
    Main,
    /// By `start` of a thread object, which can be started once.
    Started(ObjectId),
    /// A task given to an executor.
    Task(ObjectId, MethodId, u32),
    /// The initialiser of a class.
    Initialiser(Name),
    /// Code that is not understood may call it at any time.
    Anywhere,
}

pub struct Thread {
    pub birth: Birth,
    pub creator: Option<ThreadId>,
    pub starts: BTreeSet<Point>,
    /// What it runs, one after the other of main, one of them else.
    pub entries: Vec<FrameId>,
    /// Started by itself, or by what it starts.
    pub is_folded: bool,
    pub is_daemon: bool,
}

/// What happens when a node gets more objects.
#[derive(Clone)]
pub(super) enum Watch {
    Load(FieldId, u32),
    Store(FieldId, u32),
    /// What a view holds, if these are entries of a map.
    Entries(u32),
    Element(u32),
    StoreElement(u32),
    /// A call whose receiver this is.
    Call(Point),
    /// A call that looks at all its arguments.
    Argument(Point),
    /// What a thread object will run.
    Target(ObjectId, ThreadId, Point),
    /// A call that starts threads it is given.
    Starts(Point),
    /// A library call that may call methods of its arguments.
    Given(Point),
    /// A library call that goes through what it is given, by methods of the program if it is an object of the program.
    WalkedBy(Point),
    /// What a callback returned for the library to walk on.
    Walks(Point),
    /// Arguments of callbacks: a method's name.
    Callback(Point, Rc<str>),
    Filter(Name, u32),
    Escapes,
}

/// A call of a library method at a point.
#[derive(Clone)]
pub struct Used {
    pub model: Rc<Model>,
    /// None: whatever the receiver is.
    pub receiver: Option<ObjectId>,
}

/// What is known of calls: what holds for any receiver counts where none is known.
pub fn known(used: &[Used]) -> impl Iterator<Item = &Used> {
    let is_known = used.iter().any(|one| one.receiver.is_some());
    used.iter().filter(move |one| one.receiver.is_some() || !is_known)
}

/// Frames beyond which receivers are told apart no longer.
pub(super) const MOST_FRAMES: usize = 6_000;
pub(super) const MOST_OBJECTS: usize = 100_000;
pub(super) const MOST_THREADS: usize = 1_000;
/// Work beyond which everything is given up.
pub(super) const MOST_STEPS: u64 = 40_000_000;

pub struct Solver<'a> {
    pub classes: Classes<'a>,
    pub models: Models,
    pub context: u32,
    pub objects: Vec<Object>,
    object_ids: HashMap<(Origin, ThreadId, Option<ObjectId>), ObjectId>,
    pub frames: Vec<Frame>,
    frame_ids: HashMap<(MethodId, ThreadId, Option<ObjectId>), FrameId>,
    pub threads: Vec<Thread>,
    thread_ids: BTreeMap<(Birth, Option<ThreadId>), ThreadId>,
    pub(super) points_to: Vec<Bits>,
    pub(super) copies: Vec<Vec<u32>>,
    /// The same as pairs.
    edges: HashSet<(u32, u32)>,
    pub(super) watches: Vec<Vec<Watch>>,
    pub(super) static_nodes: HashMap<FieldId, u32>,
    pub(super) field_nodes: HashMap<(ObjectId, FieldId), u32>,
    pub(super) return_nodes: HashMap<FrameId, u32>,
    pub(super) rest: VecDeque<u32>,
    pub(super) pending: Vec<Option<Bits>>,
    pub(super) new_frames: Vec<FrameId>,
    pub callees: BTreeMap<Point, BTreeSet<FrameId>>,
    pub used: BTreeMap<Point, Vec<Used>>,
    pub started: BTreeMap<Point, BTreeSet<ThreadId>>,
    /// What is not understood, where.
    pub not_understood: BTreeMap<(String, String), BTreeSet<Point>>,
    pub initialised: BTreeSet<Name>,
    pub stubs: HashMap<(MethodId, u32), MethodId>,
    /// Made-up fields.
    pub content: FieldId,
    pub of: FieldId,
    pub target: FieldId,
    pub element: FieldId,
    pub thrown: FieldId,
    /// Points from which the library calls back, maybe often.
    pub callbacks: BTreeSet<Point>,
    /// Tasks that run any number of times, side by side.
    pub often: BTreeSet<ThreadId>,
    /// Made-up fields for what every thread has of its own.
    pub local_fields: BTreeMap<ThreadId, FieldId>,
    pub daemons: BTreeSet<ObjectId>,
    /// Library objects that show what others hold (`of`), and those of them whose elements are entries of a map.
    pub(super) views: HashSet<ObjectId>,
    pub(super) entry_views: HashSet<ObjectId>,
    /// Views whose contents go to a node, or come from it.
    pub(super) shown: HashSet<(ObjectId, u32, bool)>,
    /// Objects that unknown code may have.
    pub escapes: BTreeSet<ObjectId>,
    /// The main class and those above it.
    pub main_line: Vec<Name>,
    /// Something that is not understood may do anything at all.
    pub blind: bool,
    /// All objects that escaped know of that.
    pub(super) blinded: bool,
    pub steps: u64,
    pub gave_up: bool,
    pub deadline: Option<Instant>,
    /// Waits with a long limit are taken to end because of what they wait for.
    pub limits_hold: bool,
    /// Loads from arrays that find what was stored there before.
    pub(super) forwards: BTreeMap<(FrameId, Value), Value>,
    /// Methods that are barriers, as a user says.
    pub barriers: BTreeSet<MethodId>,
    /// A `main` that no class has: it calls the entries.
    pub made_up: Option<MethodId>,
    /// Loops whose turns were made threads: the method, the way out, and where the threads are made.
    pub turns: Vec<(MethodId, (Block, Block), u32)>,
    /// Where calls or turns were made threads that update sums for themselves: their method, and where they are made.
    pub reduces: Option<(MethodId, Vec<u32>)>,
}

impl<'a> Solver<'a> {
    pub fn new(mut classes: Classes<'a>, models: Models, context: u32) -> Self {
        let own = classes.names.add("");
        let mut field = |name: &str| {
            let name = classes.names.add(name);
            classes.field_of(own, name, 0, true)
        };
        let (content, of, target) = (field("content"), field("of"), field("target"));
        let (element, thrown) = (field("[]"), field("thrown"));
        let opaque = Object {
            origin: Origin::Opaque,
            class: own,
            thread: ThreadId::MAIN,
            receiver: None,
            made: BTreeSet::new(),
            lambda: None,
        };
        let mut solver = Self {
            classes,
            models,
            context,
            objects: vec![opaque],
            object_ids: HashMap::new(),
            frames: Vec::new(),
            frame_ids: HashMap::new(),
            threads: Vec::new(),
            thread_ids: BTreeMap::new(),
            points_to: Vec::new(),
            copies: Vec::new(),
            edges: HashSet::new(),
            watches: Vec::new(),
            static_nodes: HashMap::new(),
            field_nodes: HashMap::new(),
            return_nodes: HashMap::new(),
            rest: VecDeque::new(),
            pending: Vec::new(),
            new_frames: Vec::new(),
            callees: BTreeMap::new(),
            used: BTreeMap::new(),
            started: BTreeMap::new(),
            not_understood: BTreeMap::new(),
            initialised: BTreeSet::new(),
            stubs: HashMap::new(),
            content,
            of,
            target,
            element,
            thrown,
            callbacks: BTreeSet::new(),
            often: BTreeSet::new(),
            local_fields: BTreeMap::new(),
            daemons: BTreeSet::new(),
            views: HashSet::new(),
            entry_views: HashSet::new(),
            shown: HashSet::new(),
            escapes: BTreeSet::new(),
            main_line: Vec::new(),
            blind: false,
            blinded: false,
            steps: 0,
            gave_up: false,
            deadline: None,
            limits_hold: false,
            forwards: BTreeMap::new(),
            barriers: BTreeSet::new(),
            made_up: None,
            turns: Vec::new(),
            reduces: None,
        };
        let escaped = solver.field_node(OPAQUE, content);
        solver.watches[escaped as usize].push(Watch::Escapes);
        solver
    }

    pub(super) fn node(&mut self) -> u32 {
        self.points_to.push(Bits::default());
        self.copies.push(Vec::new());
        self.watches.push(Vec::new());
        self.pending.push(None);
        self.points_to.len() as u32 - 1
    }

    pub fn value_node(&self, frame: FrameId, value: Value) -> u32 {
        self.frames[frame.index()].base + value.0
    }

    pub(super) fn field_node(&mut self, object: ObjectId, field: FieldId) -> u32 {
        // All that opaque code has is one.
        let field = if object == OPAQUE { self.content } else { field };
        if let Some(node) = self.field_nodes.get(&(object, field)) {
            return *node;
        }
        let node = self.node();
        self.field_nodes.insert((object, field), node);
        if self.escapes.contains(&object) {
            let all = self.field_node(OPAQUE, self.content);
            self.copy(node, all);
            if self.blind {
                self.copy(all, node);
                self.add_one(node, OPAQUE);
            }
        }
        node
    }

    /// What a library object holds for one thread only.
    pub(super) fn local_field(&mut self, thread: ThreadId) -> FieldId {
        if let Some(field) = self.local_fields.get(&thread) {
            return *field;
        }
        let (own, name) = (self.classes.names.add(""), self.classes.names.add(&format!("local {}", thread.0)));
        let field = self.classes.field_of(own, name, 0, true);
        self.local_fields.insert(thread, field);
        field
    }

    pub(super) fn static_node(&mut self, field: FieldId) -> u32 {
        if let Some(node) = self.static_nodes.get(&field) {
            return *node;
        }
        let node = self.node();
        self.static_nodes.insert(field, node);
        node
    }

    pub(super) fn return_node(&mut self, frame: FrameId) -> u32 {
        if let Some(node) = self.return_nodes.get(&frame) {
            return *node;
        }
        let node = self.node();
        self.return_nodes.insert(frame, node);
        node
    }

    /// What a value refers to.
    pub fn refers(&self, frame: FrameId, value: Value) -> &Bits {
        &self.points_to[self.value_node(frame, value) as usize]
    }

    pub fn objects_of(&self, frame: FrameId, value: Value) -> Vec<ObjectId> {
        self.refers(frame, value).iter().map(|at| ObjectId(at as u32)).collect()
    }

    pub(super) fn add(&mut self, node: u32, more: &Bits) {
        let mut new = more.clone();
        new.remove_all(&self.points_to[node as usize]);
        if new.is_empty() {
            return;
        }
        self.points_to[node as usize].add_all(&new);
        match &mut self.pending[node as usize] {
            Some(pending) => {
                pending.add_all(&new);
            }
            none => {
                *none = Some(new);
                self.rest.push_back(node);
            }
        }
    }

    pub(super) fn add_one(&mut self, node: u32, object: ObjectId) {
        self.add(node, &[object.index()].into_iter().collect());
    }

    pub(super) fn copy(&mut self, from: u32, to: u32) {
        if from != to && self.edges.insert((from, to)) {
            self.copies[from as usize].push(to);
            let known = self.points_to[from as usize].clone();
            self.add(to, &known);
        }
    }

    pub(super) fn watch(&mut self, node: u32, watch: Watch) {
        let known: Vec<usize> = self.points_to[node as usize].iter().collect();
        self.watches[node as usize].push(watch.clone());
        for object in known {
            self.notice(&watch, ObjectId(object as u32));
        }
    }

    /// An object, with the thread and receiver that tell it apart from others of its site.
    pub(super) fn object(&mut self, origin: Origin, class: Name, at: Option<(FrameId, Block)>) -> ObjectId {
        let (thread, receiver) = match at {
            Some((frame, _)) => {
                let frame = &self.frames[frame.index()];
                let receiver = frame.receiver.filter(|_| self.context > 0);
                // An object whose receiver has one itself is told apart by that one.
                let outer = receiver.map(|object| self.objects[object.index()].receiver.unwrap_or(object));
                (frame.thread, outer)
            }
            None => (ThreadId::MAIN, None),
        };
        let id = *self.object_ids.entry((origin, thread, receiver)).or_insert(ObjectId(self.objects.len() as u32));
        if id.index() == self.objects.len() {
            let made = BTreeSet::new();
            self.objects.push(Object { origin, class, thread, receiver, made, lambda: None });
        }
        self.objects[id.index()].made.extend(at);
        id
    }

    /// The frame of a method; none if it has no code or none that is understood.
    pub(super) fn frame(&mut self, method: MethodId, thread: ThreadId, receiver: Option<ObjectId>) -> Option<FrameId> {
        let tell_apart = self.context > 0 && self.frames.len() < MOST_FRAMES;
        let key = (method, thread, receiver.filter(|_| tell_apart));
        if let Some(known) = self.frame_ids.get(&key) {
            return Some(*known);
        }
        let body = self.classes.body(method)?.ok()?;
        let id = FrameId(self.frames.len() as u32);
        let base = self.points_to.len() as u32;
        for _ in 0..body.code.values.len() {
            self.node();
        }
        self.frames.push(Frame { method, thread, receiver: key.2, body, callers: BTreeSet::new(), base });
        self.frame_ids.insert(key, id);
        self.new_frames.push(id);
        Some(id)
    }

    pub(super) fn thread(&mut self, birth: Birth, creator: Option<ThreadId>) -> ThreadId {
        // A thread that starts its like is folded.
        let mut above = creator;
        while let Some(at) = above {
            if self.is_alike(self.threads[at.index()].birth, birth) {
                self.threads[at.index()].is_folded = true;
                return at;
            }
            above = self.threads[at.index()].creator;
        }
        if let Some(known) = self.thread_ids.get(&(birth, creator)) {
            return *known;
        }
        let id = ThreadId(self.threads.len() as u32);
        let (starts, entries) = (BTreeSet::new(), Vec::new());
        self.threads.push(Thread { birth, creator, starts, entries, is_folded: false, is_daemon: false });
        self.thread_ids.insert((birth, creator), id);
        id
    }

    /// Threads of objects that one line makes: one that starts its like would go on for ever.
    fn is_alike(&self, one: Birth, other: Birth) -> bool {
        let origin = |object: ObjectId| self.objects[object.index()].origin;
        match (one, other) {
            (Birth::Started(a), Birth::Started(b)) => origin(a) == origin(b),
            (Birth::Task(a, one, at), Birth::Task(b, other, there)) => {
                origin(a) == origin(b) && one == other && at == there
            }
            _ => one == other,
        }
    }
}
