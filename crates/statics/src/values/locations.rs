//! Places of memory as identifiers: what value domains see of the heap.
//!
//! A location is a field of an object, an element of a small array, or all elements of another one. It is *single* if
//! it is one place of a run at most: only then may a write replace what was there.

use reweave_script::language::{Base, Literal, Operand, Place, Slot, Type};

use crate::domain::number::Number;
use crate::domain::value::{Domain, Value};
use crate::frames::{FrameId, Skeleton};
use crate::points_to::{Contents, Object, ObjectId, PointsTo, Target};

/// Index into [`Locations::all`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocationId(pub u32);

impl LocationId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Location {
    pub object: ObjectId,
    /// Which field or element; none: any element.
    pub index: Option<u32>,
    pub kind: Type,
    pub is_single: bool,
}

/// Elements of arrays up to this length are told apart.
const SMALL_ARRAY: u32 = 16;

pub struct Locations {
    pub all: Vec<Location>,
    /// Of each object, its first location and how many there are; elements of small arrays and fields are in order.
    ranges: Vec<(u32, u32)>,
    /// Of each object, by field: its location (fields that hold no values have none).
    fields: Vec<Vec<Option<LocationId>>>,
}

/// What a place may be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resolved {
    pub locations: Vec<LocationId>,
    /// Or anything.
    pub unknown: bool,
}

impl Locations {
    pub fn new(skeleton: &Skeleton<'_>, points_to: &PointsTo) -> Self {
        let mut locations = Self { all: Vec::new(), ranges: Vec::new(), fields: Vec::new() };
        for at in 0..points_to.objects.len() {
            let object = ObjectId(at as u32);
            let is_single = points_to.is_single(skeleton, object);
            let first = locations.all.len() as u32;
            let mut fields = Vec::new();
            let mut add = |index: Option<u32>, slot: Slot, is_single: bool| {
                let Slot::Value(kind) = slot else { return None };
                locations.all.push(Location { object, index, kind, is_single });
                Some(LocationId(locations.all.len() as u32 - 1))
            };
            match points_to.contents(skeleton, object) {
                Contents::One(slot) => fields.push(add(Some(0), slot, is_single)),
                Contents::Fields(kind) => {
                    let all = &skeleton.program.types[kind.index()].fields;
                    fields =
                        all.iter().enumerate().map(|(at, field)| add(Some(at as u32), field.1, is_single)).collect();
                }
                Contents::Elements(slot, Some(length)) if length <= SMALL_ARRAY => {
                    for at in 0..length {
                        add(Some(at), slot, is_single);
                    }
                }
                Contents::Elements(slot, _) => {
                    add(None, slot, false);
                }
            }
            locations.ranges.push((first, locations.all.len() as u32 - first));
            locations.fields.push(fields);
        }
        locations
    }

    pub fn ids(&self) -> impl Iterator<Item = LocationId> + use<> {
        (0..self.all.len() as u32).map(LocationId)
    }

    pub fn of_object(&self, object: ObjectId) -> impl Iterator<Item = LocationId> + use<> {
        let (first, count) = self.ranges[object.index()];
        (first..first + count).map(LocationId)
    }

    pub fn get(&self, id: LocationId) -> &Location {
        &self.all[id.index()]
    }

    /// Where a place may be, if its index is this.
    pub fn resolve(
        &self,
        skeleton: &Skeleton<'_>,
        points_to: &PointsTo,
        frame: FrameId,
        place: &Place,
        index: &Value,
    ) -> Resolved {
        let mut resolved = Resolved::default();
        let (base, field) = match *place {
            Place::Global(global) => (Base::Global(global), Some((None, 0))),
            Place::Field { base, kind, field } => (base, Some((Some(kind), field))),
            Place::Element { base, .. } => (base, None),
            Place::Object(_) => return resolved,
        };
        for target in points_to.base(frame, base) {
            let Target::Object(object) = target else {
                resolved.unknown |= target == Target::Unknown;
                continue;
            };
            let contents = points_to.contents(skeleton, object);
            match (field, contents) {
                // A field of an object of another type fails.
                (Some((Some(kind), field)), Contents::Fields(own)) if kind == own => {
                    resolved.locations.extend(self.fields[object.index()].get(field as usize).copied().flatten());
                }
                (Some((None, _)), Contents::One(_)) => resolved.locations.extend(self.fields[object.index()][0]),
                (None, Contents::Elements(..)) => {
                    let inside = |at: &LocationId| match (self.get(*at).index, index) {
                        (Some(own), Value::Number(index)) => index.contains(own.into()),
                        (_, Value::Nothing) => false,
                        _ => true,
                    };
                    resolved.locations.extend(self.of_object(object).filter(inside));
                }
                _ => {}
            }
        }
        resolved
    }

    /// What a location holds before anything is written; nothing if it is not there yet.
    pub fn initial(&self, skeleton: &Skeleton<'_>, points_to: &PointsTo, domain: Domain, id: LocationId) -> Value {
        let location = self.get(id);
        let Object::Global(global) = points_to.objects[location.object.index()] else { return Value::Nothing };
        let global = skeleton.program.global(global);
        let at = |index: usize| match global.initial.get(index) {
            Some(literal) if matches!(global.slot, Slot::Value(_)) => domain.literal(location.kind, *literal),
            _ => domain.zero(location.kind),
        };
        match location.index {
            Some(index) => at(index as usize),
            None => {
                // One more than is written at first stands for the rest.
                let count =
                    global.initial.len() + usize::from((global.length.unwrap_or(1) as usize) > global.initial.len());
                (0..count).fold(Value::Nothing, |known, index| domain.join(location.kind, &known, &at(index)))
            }
        }
    }

    /// `Account.amount`, `total`, `table[3]`, `table[]`.
    pub fn name(&self, skeleton: &Skeleton<'_>, points_to: &PointsTo, id: LocationId) -> String {
        let location = self.get(id);
        let program = skeleton.program;
        let (base, kind) = match points_to.objects[location.object.index()] {
            Object::Global(global) => (program.global(global).name.clone(), None),
            Object::Site(point) => (format!("line {}", skeleton.statement(point.statement).position.line), Some(point)),
        };
        match (points_to.contents(skeleton, location.object), location.index) {
            (Contents::One(_), _) => base,
            (Contents::Fields(object), Some(field)) => {
                let object = &program.types[object.index()];
                let name = &object.fields[field as usize].0;
                match kind {
                    Some(_) => format!("{}.{name} (object of {base})", object.name),
                    None => format!("{base}.{name}"),
                }
            }
            (_, index) => {
                let index = index.map_or_else(String::new, |index| index.to_string());
                match kind {
                    Some(_) => format!("array of {base}[{index}]"),
                    None => format!("{base}[{index}]"),
                }
            }
        }
    }
}

/// The index operand of a place.
pub fn index_of(place: &Place) -> Option<Operand> {
    match place {
        Place::Element { index, .. } => Some(*index),
        _ => None,
    }
}

/// The value of an index that is written down.
pub fn literal_index(literal: Literal) -> Value {
    match literal {
        Literal::Integer(value) => Value::Number(Number::constant(value)),
        _ => Value::Nothing,
    }
}
