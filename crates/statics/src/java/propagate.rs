//! Goes on from what is new until nothing is: sets of objects along copies, and what watches them.

use std::time::Instant;

use super::code::Name;
use super::solve::{MOST_OBJECTS, MOST_STEPS, MOST_THREADS, OPAQUE, ObjectId, Solver, Watch};

impl Solver<'_> {
    /// Solves everything that follows from what is known.
    pub fn solve(&mut self) {
        loop {
            self.tick();
            if self.gave_up {
                return;
            }
            if let Some(frame) = self.new_frames.pop() {
                self.enter(frame);
                continue;
            }
            let Some(node) = self.rest.pop_front() else { return };
            let Some(new) = self.pending[node as usize].take() else { continue };
            for to in self.copies[node as usize].clone() {
                self.add(to, &new);
            }
            for watch in self.watches[node as usize].clone() {
                for object in new.iter() {
                    self.notice(&watch, ObjectId(object as u32));
                }
            }
        }
    }

    /// Counts work, and looks now and then whether there was enough of it.
    fn tick(&mut self) {
        self.steps += 1;
        let late = self.steps.is_multiple_of(512) && self.deadline.is_some_and(|deadline| Instant::now() > deadline);
        let large = self.objects.len() > MOST_OBJECTS || self.threads.len() > MOST_THREADS;
        self.gave_up |= self.steps > MOST_STEPS || large || late;
    }

    pub(super) fn notice(&mut self, watch: &Watch, object: ObjectId) {
        self.tick();
        if self.gave_up {
            return;
        }
        match watch {
            Watch::Load(field, to) => {
                let from = self.field_node(object, *field);
                self.copy(from, *to);
                if object == OPAQUE {
                    self.add_one(*to, OPAQUE);
                }
                let shows = *field == self.content && self.views.contains(&object);
                if shows && self.shown.insert((object, *to, false)) {
                    let of = self.field_node(object, self.of);
                    if self.entry_views.contains(&object) {
                        self.watch(of, Watch::Entries(*to));
                    } else {
                        self.watch(of, Watch::Load(self.content, *to));
                        self.watch(of, Watch::Load(self.element, *to));
                    }
                }
            }
            Watch::Store(field, from) => {
                let to = self.field_node(object, *field);
                self.copy(*from, to);
                let shows = *field == self.content && self.views.contains(&object);
                if shows && self.shown.insert((object, *from, true)) {
                    let of = self.field_node(object, self.of);
                    self.watch(of, Watch::Store(self.content, *from));
                    self.watch(of, Watch::Store(self.element, *from));
                }
            }
            Watch::Entries(to) => {
                if self.entry_views.contains(&object) {
                    let from = self.field_node(object, self.content);
                    self.copy(from, *to);
                }
            }
            Watch::Element(to) => self.notice(&Watch::Load(self.element, *to), object),
            Watch::StoreElement(from) => self.notice(&Watch::Store(self.element, *from), object),
            Watch::Call(point) => self.dispatch(*point, object),
            Watch::Argument(point) => self.argument(*point, object),
            Watch::Given(point) => self.given(*point, object),
            Watch::WalkedBy(point) => self.walked(*point, object),
            Watch::Walks(point) => self.walks(*point, object),
            Watch::Starts(point) => self.starts_argument(*point, object),
            Watch::Target(thread_object, thread, point) => self.runs(*thread_object, *thread, *point, object),
            Watch::Callback(point, method) => self.call_back(*point, method, object),
            Watch::Filter(class, to) => {
                if self.may_be(object, *class) {
                    self.add_one(*to, object);
                }
            }
            Watch::Escapes => self.escaped(object),
        }
    }

    /// Whether a cast lets an object pass.
    fn may_be(&self, object: ObjectId, class: Name) -> bool {
        let own = &self.objects[object.index()];
        if object == OPAQUE || own.lambda.is_some() || !self.classes.is_loaded(class) {
            return true;
        }
        let is_known = self.classes.is_loaded(own.class);
        let text = self.classes.names.text(own.class);
        !is_known && !text.starts_with("java") && !text.starts_with('[')
            || self.classes.above(own.class).contains(&class)
    }
}
