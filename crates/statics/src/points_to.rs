//! What references and thread handles may refer to (inclusion-based, Andersen 1994), field-sensitive, one set per
//! register and frame, the same at every point of the frame.
//!
//! Lattice: sets of [`Target`]s, by inclusion. An object stands for all that an allocation in a frame makes in a run;
//! it is *single* if that is one at most. `Unknown` stands for everything that code we do not understand may hand out.

use std::collections::{BTreeSet, HashMap};

use reweave_script::language::{
    Allocation, Base, GlobalId, Operand, Place, Program, Register, Slot, StatementKind, Type, TypeId,
};

use crate::faults::{Fault, is_seeded};
use crate::frames::{FrameId, Point, Skeleton, ThreadId};

/// Index into [`PointsTo::objects`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u32);

impl ObjectId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Object {
    Global(GlobalId),
    /// What is allocated there.
    Site(Point),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    Object(ObjectId),
    Thread(ThreadId),
    Unknown,
}

pub type Targets = BTreeSet<Target>;

/// What has a set: a register of a frame, or what lies in a field (or in all elements) of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Node {
    Register(FrameId, Register),
    Result(FrameId),
    Inside(ObjectId, u32),
}

/// What lies in an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    Fields(TypeId),
    /// So many; none: not known.
    Elements(Slot, Option<u32>),
    One(Slot),
}

pub struct PointsTo {
    pub objects: Vec<Object>,
    ids: HashMap<Object, ObjectId>,
    sets: HashMap<Node, Targets>,
}

impl PointsTo {
    pub fn new(skeleton: &Skeleton<'_>) -> Self {
        let mut points_to = Self { objects: Vec::new(), ids: HashMap::new(), sets: HashMap::new() };
        for at in 0..skeleton.program.globals.len() {
            points_to.object(Object::Global(GlobalId(at as u32)));
        }
        Solver::new(skeleton, points_to).run()
    }

    fn object(&mut self, object: Object) -> ObjectId {
        let next = ObjectId(self.objects.len() as u32);
        let id = *self.ids.entry(object).or_insert(next);
        if id == next {
            self.objects.push(object);
        }
        id
    }

    pub fn id_of(&self, object: Object) -> Option<ObjectId> {
        self.ids.get(&object).copied()
    }

    pub fn register(&self, frame: FrameId, register: Register) -> Targets {
        self.sets.get(&Node::Register(frame, register)).cloned().unwrap_or_default()
    }

    /// What a place may lie in.
    pub fn base(&self, frame: FrameId, base: Base) -> Targets {
        match base {
            Base::Global(global) => {
                let object = self.id_of(Object::Global(global)).expect("every global is an object");
                [Target::Object(object)].into()
            }
            Base::Register(register) => self.register(frame, register),
        }
    }

    /// Whether it is one object of a run at most.
    pub fn is_single(&self, skeleton: &Skeleton<'_>, object: ObjectId) -> bool {
        match self.objects[object.index()] {
            Object::Global(_) => true,
            Object::Site(point) => skeleton.is_single(point),
        }
    }

    pub fn contents(&self, skeleton: &Skeleton<'_>, object: ObjectId) -> Contents {
        match self.objects[object.index()] {
            Object::Global(global) => contents_of_global(skeleton.program, global),
            Object::Site(point) => match skeleton.statement(point.statement).kind {
                StatementKind::Alloc { what: Allocation::Object(kind), .. } => Contents::Fields(kind),
                StatementKind::Alloc { what: Allocation::Array { element, length }, .. } => {
                    let known = match length {
                        Operand::Literal(reweave_script::language::Literal::Integer(length)) => {
                            u32::try_from(length).ok()
                        }
                        _ => None,
                    };
                    Contents::Elements(Slot::Value(element), known)
                }
                _ => unreachable!("objects are made by alloc"),
            },
        }
    }
}

fn contents_of_global(program: &Program, global: GlobalId) -> Contents {
    let global = program.global(global);
    match (global.slot, global.length) {
        (Slot::Object(kind), _) => Contents::Fields(kind),
        (slot, Some(length)) => Contents::Elements(slot, Some(length)),
        (slot, None) => Contents::One(slot),
    }
}

/// `to` holds what the fields of what `base` holds do, or the other way round.
#[derive(Clone, Copy)]
struct Access {
    base: Node,
    field: u32,
    other: Node,
    /// Into memory.
    stores: bool,
}

struct Solver<'a, 'p> {
    skeleton: &'a Skeleton<'p>,
    points_to: PointsTo,
    copies: HashMap<Node, Vec<Node>>,
    accesses: HashMap<Node, Vec<Access>>,
    rest: Vec<(Node, Target)>,
}

impl<'a, 'p> Solver<'a, 'p> {
    fn new(skeleton: &'a Skeleton<'p>, points_to: PointsTo) -> Self {
        Self { skeleton, points_to, copies: HashMap::new(), accesses: HashMap::new(), rest: Vec::new() }
    }

    fn add(&mut self, node: Node, target: Target) {
        if self.points_to.sets.entry(node).or_default().insert(target) {
            self.rest.push((node, target));
        }
    }

    fn copy(&mut self, from: Node, to: Node) {
        self.copies.entry(from).or_default().push(to);
        for target in self.points_to.sets.get(&from).cloned().unwrap_or_default() {
            self.add(to, target);
        }
    }

    fn run(mut self) -> PointsTo {
        for frame in self.skeleton.frame_ids() {
            let points: Vec<_> = self.skeleton.points(frame).collect();
            for (point, statement) in points {
                self.statement(point, &statement.kind);
            }
        }
        while let Some((node, target)) = self.rest.pop() {
            for to in self.copies.get(&node).cloned().unwrap_or_default() {
                self.add(to, target);
            }
            for access in self.accesses.get(&node).cloned().unwrap_or_default() {
                self.access(access, target);
            }
        }
        self.points_to
    }

    fn access(&mut self, access: Access, target: Target) {
        match target {
            Target::Object(object) => {
                let inside = Node::Inside(object, access.field);
                let (from, to) = if access.stores { (access.other, inside) } else { (inside, access.other) };
                self.copy(from, to);
            }
            Target::Unknown if !access.stores => self.add(access.other, Target::Unknown),
            Target::Unknown | Target::Thread(_) => {}
        }
    }

    fn is_reference(&self, frame: FrameId, register: Register) -> bool {
        let function = self.skeleton.program.function(self.skeleton.frames[frame.index()].function);
        matches!(function.kind_of(register), Type::Ref | Type::Thread)
    }

    fn copy_operand(&mut self, frame: FrameId, from: Operand, to: Node) {
        if let Operand::Register(register) = from
            && self.is_reference(frame, register)
        {
            self.copy(Node::Register(frame, register), to);
        }
    }

    /// Between a place and a node.
    fn through(&mut self, frame: FrameId, place: &Place, other: Node, stores: bool) {
        let (base, field) = match *place {
            Place::Global(global) => (Base::Global(global), 0),
            Place::Field { base, field, .. } => (base, field),
            Place::Element { base, .. } => (base, 0),
            Place::Object(_) => return,
        };
        match base {
            Base::Global(global) => {
                let object = self.points_to.object(Object::Global(global));
                let node = Node::Inside(object, field);
                let (from, to) = if stores { (other, node) } else { (node, other) };
                self.copy(from, to);
            }
            Base::Register(register) => {
                let base = Node::Register(frame, register);
                let access = Access { base, field, other, stores };
                self.accesses.entry(base).or_default().push(access);
                for target in self.points_to.sets.get(&access.base).cloned().unwrap_or_default() {
                    self.access(access, target);
                }
            }
        }
    }

    fn pass(&mut self, from: FrameId, arguments: &[Operand], to: FrameId) {
        for (at, argument) in arguments.iter().enumerate() {
            self.copy_operand(from, *argument, Node::Register(to, Register(at as u32)));
        }
    }

    fn statement(&mut self, point: Point, kind: &StatementKind) {
        let frame = point.frame;
        let is_reference = kind.target().is_some_and(|to| self.is_reference(frame, to));
        match kind {
            StatementKind::Move { to, from } if is_reference => {
                self.copy_operand(frame, *from, Node::Register(frame, *to));
            }
            StatementKind::Alloc { to, .. } => {
                let object = self.points_to.object(Object::Site(point));
                self.add(Node::Register(frame, *to), Target::Object(object));
            }
            StatementKind::Load { to, from, .. } if is_reference => {
                self.through(frame, from, Node::Register(frame, *to), false);
            }
            StatementKind::Store { to, value: Operand::Register(value), .. }
                if self.is_reference(frame, *value) && !is_seeded(Fault::NoStoredReferences) =>
            {
                self.through(frame, to, Node::Register(frame, *value), true);
            }
            StatementKind::Update { to, at, value, .. } if is_reference => {
                self.through(frame, at, Node::Register(frame, *to), false);
                if let Operand::Register(value) = value {
                    self.through(frame, at, Node::Register(frame, *value), true);
                }
            }
            StatementKind::CompareExchange { to, at, new, .. } if is_reference => {
                self.through(frame, at, Node::Register(frame, *to), false);
                if let Operand::Register(value) = new {
                    self.through(frame, at, Node::Register(frame, *value), true);
                }
            }
            StatementKind::Start { to, arguments, .. } => {
                let child = self.skeleton.started[&point];
                self.add(Node::Register(frame, *to), Target::Thread(child));
                self.pass(frame, arguments, self.skeleton.threads[child.index()].entry);
            }
            StatementKind::Call { to, arguments, .. } => {
                let callee = self.skeleton.callees[&point];
                self.pass(frame, arguments, callee);
                if let Some(to) = to
                    && is_reference
                {
                    self.copy(Node::Result(callee), Node::Register(frame, *to));
                }
            }
            StatementKind::Return { value: Some(value) } => self.copy_operand(frame, *value, Node::Result(frame)),
            StatementKind::Opaque { writes, .. } => {
                let handed_out = Node::Result(FrameId(u32::MAX));
                self.add(handed_out, Target::Unknown);
                writes.iter().for_each(|place| self.through(frame, place, handed_out, true));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_script::language::parse;

    #[test]
    fn references_go_through_fields_calls_and_threads() {
        let text = "type N { next: ref }\nglobal head: ref\nfunc w(%n: ref) {\na:\n %x: ref = load field(%n, N.next)\n store head, %x\n return\n}\nfunc main() {\na:\n %p: ref = alloc N\n %q: ref = alloc N\n store field(%p, N.next), %q\n %t: thread = start w(%p)\n join %t\n %h: ref = load head\n return\n}";
        let program = parse("heap.rwi", text).unwrap_or_else(|error| panic!("{error}"));
        let skeleton = Skeleton::new(&program, 1);
        let points_to = PointsTo::new(&skeleton);
        let registers = &program.functions[1].registers;
        let register = |name: &str| Register(registers.iter().position(|known| known.name == name).unwrap() as u32);
        let main = FrameId(0);
        assert_eq!(points_to.register(main, register("h")), points_to.register(main, register("q")));
        assert_ne!(points_to.register(main, register("p")), points_to.register(main, register("q")));
        assert_eq!(points_to.register(main, register("t")), [Target::Thread(ThreadId(1))].into());
        let [Target::Object(q)] = points_to.register(main, register("q")).into_iter().collect::<Vec<_>>()[..] else {
            panic!("one object")
        };
        assert!(points_to.is_single(&skeleton, q));
        assert_eq!(points_to.contents(&skeleton, q), Contents::Fields(TypeId(0)));
    }
}
