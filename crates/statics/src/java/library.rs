//! What library calls return, and what becomes of what objects hold, as models say.

use super::code::{How, Name, Value};
use super::models::{Model, Word};
use super::solve::{Birth, OPAQUE, ObjectId, Origin, Point, Solver, Watch};

/// Parts of a site that library calls make.
pub(super) const FRESH: u8 = 100;
const VIEW: u8 = 101;
const ENTRY: u8 = 102;

impl Solver<'_> {
    /// What a library call returns.
    pub(super) fn returned(
        &mut self,
        at: Point,
        model: &Model,
        receiver: Option<ObjectId>,
        arguments: &[Value],
        result: Option<u32>,
    ) {
        let Some(result) = result else { return };
        if model.has(Word::Argument) {
            for argument in arguments {
                let from = self.value_node(at.frame, *argument);
                self.copy(from, result);
            }
        }
        if model.has(Word::Gives) && self.call_at(at).is_some_and(|call| call.how == How::Static) {
            for argument in arguments {
                let from = self.value_node(at.frame, *argument);
                self.watch(from, Watch::Load(self.content, result));
                self.watch(from, Watch::Load(self.element, result));
            }
        }
        if model.has(Word::Current) {
            let birth = self.threads[self.frames[at.frame.index()].thread.index()].birth;
            let object = match birth {
                Birth::Started(object) => object,
                _ => {
                    let class = self.classes.names.add("java/lang/Thread");
                    self.object(Origin::Constant(class), class, None)
                }
            };
            self.add_one(result, object);
        }
        let returns = self.call_at(at).is_some_and(|call| {
            let text = self.classes.names.text(call.method.descriptor);
            text.rsplit(')').next().is_some_and(|result| result.starts_with(['L', '[']))
        });
        let others = [Word::Gives, Word::Argument, Word::This, Word::Current];
        let shows = model.has(Word::View) || model.has(Word::Entries);
        let is_made = model.has(Word::Fresh) || shows || model.has(Word::Submit);
        // A text, a number as an object: some object that nobody else has.
        if returns && (is_made || !others.into_iter().any(|word| model.has(word))) {
            let part = if shows { VIEW } else { FRESH };
            let object = self.made(at, model, part);
            if shows || model.has(Word::Wraps) {
                self.views.insert(object);
            }
            if model.has(Word::Entries) || receiver.is_some_and(|receiver| self.entry_views.contains(&receiver)) {
                self.entry_views.insert(object);
            }
            self.add_one(result, object);
            let holds = [self.field_node(object, self.content), self.field_node(object, self.element)];
            for argument in arguments {
                let node = self.value_node(at.frame, *argument);
                for to in holds {
                    if model.has(Word::Copies) {
                        self.watch(node, Watch::Load(self.content, to));
                        self.watch(node, Watch::Load(self.element, to));
                    }
                    if model.has(Word::Keeps) {
                        self.copy(node, to);
                    }
                }
                if model.has(Word::Wraps) {
                    let of = self.field_node(object, self.of);
                    self.copy(node, of);
                    self.watch(node, Watch::Load(self.of, of));
                }
            }
            if let Some(receiver) = receiver {
                if model.has(Word::Copies) {
                    for to in holds {
                        self.notice(&Watch::Load(self.content, to), receiver);
                        self.notice(&Watch::Load(self.element, to), receiver);
                    }
                }
                if shows {
                    self.shows_what_is_in(object, receiver);
                }
                if model.has(Word::Entries) {
                    let class = self.classes.names.add("java/util/Map$Entry");
                    let entry = self.made_as(at, class, ENTRY);
                    self.views.insert(entry);
                    self.shows_what_is_in(entry, receiver);
                    let inside = self.field_node(object, self.content);
                    self.add_one(inside, entry);
                }
            }
        }
    }

    fn shows_what_is_in(&mut self, view: ObjectId, receiver: ObjectId) {
        let of = self.field_node(view, self.of);
        self.add_one(of, receiver);
        let outer = self.field_node(receiver, self.of);
        self.copy(outer, of);
    }

    /// What stands for all that a library class keeps for the whole program.
    pub(super) fn state_of(&mut self, class: Name) -> ObjectId {
        let own = format!("state of {}", self.classes.names.text(class));
        let own = self.classes.names.add(&own);
        self.object(Origin::Constant(own), class, None)
    }

    /// The object that a library call makes at a point.
    pub(super) fn made(&mut self, at: Point, model: &Model, part: u8) -> ObjectId {
        let Some(call) = self.call_at(at).cloned() else { return OPAQUE };
        let class = match &model.fresh {
            Some(class) => self.classes.names.add(class),
            None => {
                let text = self.classes.names.text(call.method.descriptor);
                let result = text.rsplit(')').next().unwrap_or_default();
                let result = result.strip_prefix('L').map_or(result, |class| class.trim_end_matches(';')).to_owned();
                self.classes.names.add(&result)
            }
        };
        self.made_as(at, class, part)
    }

    fn made_as(&mut self, at: Point, class: Name, part: u8) -> ObjectId {
        let method = self.frames[at.frame.index()].method;
        let pc = self.statement_at(at).pc;
        self.object(Origin::Site(method, pc, part), class, Some((at.frame, at.block)))
    }

    /// What a library call does with what its receiver holds.
    pub(super) fn holds(
        &mut self,
        at: Point,
        model: &Model,
        object: ObjectId,
        arguments: &[Value],
        result: Option<u32>,
    ) {
        let held = match model.has(Word::Local) {
            true => self.local_field(self.frames[at.frame.index()].thread),
            false => self.content,
        };
        let content = self.field_node(object, held);
        for argument in arguments {
            let from = self.value_node(at.frame, *argument);
            if model.has(Word::Keeps) {
                self.copy(from, content);
                if self.views.contains(&object) {
                    self.notice(&Watch::Store(self.content, from), object);
                }
            }
            if model.has(Word::Copies) {
                self.watch(from, Watch::Load(self.content, content));
                self.watch(from, Watch::Load(self.element, content));
            }
            if model.has(Word::Target) {
                let target = self.field_node(object, self.target);
                self.copy(from, target);
            }
        }
        if let Some(result) = result {
            if model.has(Word::Gives) {
                self.copy(content, result);
                if self.views.contains(&object) {
                    self.notice(&Watch::Load(self.content, result), object);
                }
            }
            if model.has(Word::This) {
                self.add_one(result, object);
            }
        }
        if model.has(Word::Start) {
            self.start(at, object);
        }
        if model.has(Word::Runs) {
            let target = self.field_node(object, self.target);
            self.watch(target, Watch::Callback(at, "run".into()));
        }
        if model.has(Word::Daemon) {
            self.daemons.insert(object);
        }
    }

    /// Elements of arguments, and of the receiver, may go into other arguments.
    pub(super) fn fills(&mut self, at: Point, receiver: Option<ObjectId>, arguments: &[Value]) {
        if let Some(receiver) = receiver {
            for to in arguments {
                let to = self.value_node(at.frame, *to);
                let between = self.node();
                for field in [self.content, self.element] {
                    self.notice(&Watch::Load(field, between), receiver);
                    self.watch(to, Watch::Store(field, between));
                }
            }
        }
        for from in arguments {
            for to in arguments.iter().filter(|to| *to != from) {
                let (from, to) = (self.value_node(at.frame, *from), self.value_node(at.frame, *to));
                for field in [self.content, self.element] {
                    let between = self.node();
                    self.watch(from, Watch::Load(field, between));
                    self.watch(to, Watch::Store(field, between));
                }
                self.watch(to, Watch::Store(self.element, from));
            }
        }
    }
}
