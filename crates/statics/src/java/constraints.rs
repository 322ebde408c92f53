//! The constraints that the code of a frame puts on what references refer to.

use std::rc::Rc;

use super::calls::is_library;
use super::classes::Body;
use super::code::{Block, Constant, Def, Kind, Member, Name, Place, Statement, Value};
use super::solve::{FrameId, OPAQUE, ObjectId, Origin, Point, Solver, Watch};

impl Solver<'_> {
    /// The constraints of a frame.
    pub(super) fn enter(&mut self, frame: FrameId) {
        let body = self.frames[frame.index()].body.clone();
        let method = self.frames[frame.index()].method;
        let class = self.classes.method(method).class_name;
        self.initialise(class);
        for (at, info) in body.code.values.iter().enumerate() {
            let node = self.value_node(frame, Value(at as u32));
            match &info.def {
                Def::Phi(all) => {
                    for (_, value) in all {
                        let from = self.value_node(frame, *value);
                        self.copy(from, node);
                    }
                }
                Def::Cast(value, class) => {
                    let from = self.value_node(frame, *value);
                    self.watch(from, Watch::Filter(*class, node));
                }
                Def::Constant(Constant::Text(name)) => {
                    let class = self.classes.names.add("java/lang/String");
                    let object = self.object(Origin::Constant(*name), class, None);
                    self.add_one(node, object);
                }
                Def::Constant(Constant::Class(name)) => {
                    // Told apart from a text with the same letters.
                    let own = format!("class {}", self.classes.names.text(*name));
                    let own = self.classes.names.add(&own);
                    let class = self.classes.names.add("java/lang/Class");
                    let object = self.object(Origin::Constant(own), class, None);
                    self.add_one(node, object);
                }
                Def::Constant(Constant::Dynamic) => self.add_one(node, OPAQUE),
                Def::Caught => {
                    let from = self.static_node(self.thrown);
                    self.copy(from, node);
                }
                _ => {}
            }
        }
        for (block, code) in body.code.blocks.iter().enumerate() {
            for (index, statement) in code.statements.iter().enumerate() {
                let point = Point { frame, block: block as Block, index: index as u32 };
                self.statement(point, &statement.kind, statement.pc, &body);
            }
        }
    }

    fn statement(&mut self, at: Point, kind: &Kind, pc: u32, body: &Rc<Body>) {
        let frame = at.frame;
        match kind {
            Kind::Define(value) => {
                let node = self.value_node(frame, *value);
                match body.code.def(*value) {
                    Def::New(class) => {
                        self.initialise(*class);
                        let method = self.frames[frame.index()].method;
                        let object = self.object(Origin::Site(method, pc, 0), *class, Some((frame, at.block)));
                        self.add_one(node, object);
                        self.finalised(object);
                    }
                    Def::Array(class, lengths) => self.array(at, pc, *class, lengths.len(), node),
                    Def::Load(Place::Static(member)) => {
                        self.look_up(at, *member);
                        self.initialise(member.class);
                        let field = self.classes.field(*member);
                        let declaring = self.classes.fields[field.0 as usize].class;
                        self.initialise(declaring);
                        let from = self.static_node(field);
                        self.copy(from, node);
                    }
                    Def::Load(Place::Field(base, member)) => {
                        self.look_up(at, *member);
                        let field = self.classes.field(*member);
                        let base = self.value_node(frame, *base);
                        self.watch(base, Watch::Load(field, node));
                    }
                    Def::Load(Place::Element(..)) if self.stored_before(frame, *value).is_some() => {
                        let Some(stored) = self.stored_before(frame, *value) else { return };
                        let from = self.value_node(frame, stored);
                        self.forwards.insert((frame, *value), stored);
                        self.copy(from, node);
                    }
                    Def::Load(Place::Element(base, _)) => {
                        let base = self.value_node(frame, *base);
                        self.watch(base, Watch::Element(node));
                    }
                    _ => {}
                }
            }
            Kind::Store(place, value) => {
                let from = self.value_node(frame, *value);
                match place {
                    Place::Static(member) => {
                        self.look_up(at, *member);
                        self.initialise(member.class);
                        let field = self.classes.field(*member);
                        let to = self.static_node(field);
                        self.copy(from, to);
                    }
                    Place::Field(base, member) => {
                        self.look_up(at, *member);
                        let field = self.classes.field(*member);
                        let base = self.value_node(frame, *base);
                        self.watch(base, Watch::Store(field, from));
                    }
                    Place::Element(base, _) => {
                        let base = self.value_node(frame, *base);
                        self.watch(base, Watch::StoreElement(from));
                    }
                }
            }
            Kind::Call(call) => self.call(at, call, pc),
            Kind::Return(Some(value)) => {
                let (from, to) = (self.value_node(frame, *value), self.return_node(frame));
                self.copy(from, to);
            }
            Kind::Throw(value) => {
                let (from, to) = (self.value_node(frame, *value), self.static_node(self.thrown));
                self.copy(from, to);
            }
            _ => {}
        }
    }

    /// A field of a class that was not given: other code of that class may do anything to it.
    fn look_up(&mut self, at: Point, member: Member) {
        let text = self.classes.names.text(member.class).to_owned();
        // Those of function objects are made up.
        if !text.is_empty() && !is_library(&text) && !self.classes.is_loaded(member.class) {
            self.blind = true;
            self.not_understood(at, format!("class {}, which was not given", text.replace('/', ".")));
        }
    }

    /// An array and, of several dimensions, those inside it.
    fn array(&mut self, at: Point, pc: u32, class: Name, dimensions: usize, node: u32) {
        let method = self.frames[at.frame.index()].method;
        let mut outer: Option<ObjectId> = None;
        for part in 0..dimensions.max(1) {
            let text = self.classes.names.text(class);
            let inner = text.get(part..).unwrap_or("[I").to_owned();
            let class = self.classes.names.add(&inner);
            let object = self.object(Origin::Site(method, pc, part as u8), class, Some((at.frame, at.block)));
            match outer {
                None => self.add_one(node, object),
                Some(outer) => {
                    let inside = self.field_node(outer, self.element);
                    self.add_one(inside, object);
                }
            }
            outer = Some(object);
        }
    }

    pub fn statement_at(&self, at: Point) -> &Statement {
        &self.frames[at.frame.index()].body.code.blocks[at.block as usize].statements[at.index as usize]
    }

    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.frames.len() as u32).flat_map(move |frame| {
            let blocks = self.frames[frame as usize].body.code.blocks.iter().enumerate();
            blocks.flat_map(move |(block, code)| {
                (0..code.statements.len() as u32).map(move |index| Point {
                    frame: FrameId(frame),
                    block: block as Block,
                    index,
                })
            })
        })
    }
}
