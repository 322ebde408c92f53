//! Locks that a thread holds whenever it is at a point (must-locksets).
//!
//! Two locks are *the same* only if their abstract object is one concrete object: the same allocation site is not
//! enough. Lattice: sets of held locks, by reverse inclusion. A lock that `try enter` may have taken is not counted.

use std::collections::HashMap;
use std::rc::Rc;

use reweave_script::language::{Base, Literal, Operand, Place, Statement, StatementKind};

use crate::faults::{Fault, is_seeded};
use crate::flow::{Flow, Solution, solve, visit};
use crate::frames::{FrameId, Point, Skeleton};
use crate::points_to::{Contents, ObjectId, PointsTo, Target};

/// A lock that is one concrete object: where it lies, and which field or element of it; [`Lock::MONITOR`] for the
/// object itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lock {
    pub object: ObjectId,
    pub index: u32,
}

impl Lock {
    pub const MONITOR: u32 = u32::MAX;
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Held {
    pub lock: Lock,
    pub depth: u32,
    pub shared: bool,
}

/// Sorted by lock.
pub type HeldLocks = Rc<Vec<Held>>;

/// What the place of a lock may mean.
pub struct Meaning {
    /// It can be nothing else.
    pub must: Option<Lock>,
    /// Objects, and the field or element if that is known. None: anything.
    pub may: Option<Vec<(ObjectId, Option<u32>)>>,
}

pub fn meaning(skeleton: &Skeleton<'_>, points_to: &PointsTo, frame: FrameId, place: &Place) -> Meaning {
    let (targets, index) = match *place {
        Place::Global(global) => (points_to.base(frame, Base::Global(global)), Some(0)),
        Place::Object(register) => (points_to.register(frame, register), Some(Lock::MONITOR)),
        Place::Field { base, field, .. } => (points_to.base(frame, base), Some(field)),
        Place::Element { base, index } => {
            let known = match index {
                Operand::Literal(Literal::Integer(index)) => u32::try_from(index).ok(),
                _ => None,
            };
            (points_to.base(frame, base), known)
        }
    };
    if targets.contains(&Target::Unknown) {
        return Meaning { must: None, may: None };
    }
    let objects: Vec<ObjectId> = targets
        .iter()
        .filter_map(|target| match target {
            Target::Object(object) => Some(*object),
            _ => None,
        })
        .collect();
    let only = |object: ObjectId| matches!(points_to.contents(skeleton, object), Contents::Elements(_, Some(1)));
    let must = match (&objects[..], index) {
        (&[object], Some(index)) if points_to.is_single(skeleton, object) => Some(Lock { object, index }),
        (&[object], None) if points_to.is_single(skeleton, object) && only(object) => Some(Lock { object, index: 0 }),
        _ => None,
    };
    Meaning { must, may: Some(objects.into_iter().map(|object| (object, index)).collect()) }
}

impl Meaning {
    /// Whether it can be this lock.
    pub fn may_be(&self, lock: Lock) -> bool {
        self.may.as_ref().is_none_or(|may| {
            may.iter().any(|(object, index)| *object == lock.object && index.is_none_or(|index| index == lock.index))
        })
    }
}

/// The locks held at every point.
pub struct Locks {
    held: HashMap<Point, HeldLocks>,
    none: HeldLocks,
}

impl Locks {
    pub fn new(skeleton: &Skeleton<'_>, points_to: &PointsTo) -> Self {
        let mut flow = Holding { skeleton, points_to };
        let mut solution = Solution::new(skeleton);
        for thread in skeleton.thread_ids() {
            solve(&mut flow, skeleton, thread, HeldLocks::default(), &mut solution, false);
        }
        let mut held = HashMap::new();
        visit(&mut flow, skeleton, &solution, |_, point, _, state| {
            held.insert(point, state.clone());
        });
        Self { held, none: HeldLocks::default() }
    }

    /// Held before the statement.
    pub fn at(&self, point: Point) -> &HeldLocks {
        self.held.get(&point).unwrap_or(&self.none)
    }

    /// A lock that keeps two points apart.
    pub fn excludes(&self, one: Point, other: Point) -> Option<Lock> {
        let others = self.at(other);
        let apart = |shared: bool| !shared || is_seeded(Fault::SharedExcludes);
        let same =
            |held: &&Held| others.iter().any(|other| other.lock == held.lock && apart(other.shared && held.shared));
        self.at(one).iter().find(same).map(|held| held.lock)
    }
}

struct Holding<'a, 'p> {
    skeleton: &'a Skeleton<'p>,
    points_to: &'a PointsTo,
}

impl Flow for Holding<'_, '_> {
    type State = HeldLocks;

    fn join(&mut self, _: FrameId, into: &mut HeldLocks, from: &HeldLocks, _: bool) -> bool {
        let find = |lock: Lock| from.iter().find(|held| held.lock == lock);
        let both = into.iter().filter_map(|held| {
            let other = find(held.lock)?;
            Some(Held { lock: held.lock, depth: held.depth.min(other.depth), shared: held.shared || other.shared })
        });
        let both: Vec<Held> = both.collect();
        let changed = both != **into;
        if changed {
            *into = Rc::new(both);
        }
        changed
    }

    fn step(&mut self, at: Point, statement: &Statement, state: &mut HeldLocks) -> bool {
        match &statement.kind {
            StatementKind::Enter { lock, shared } => {
                if let Some(lock) = meaning(self.skeleton, self.points_to, at.frame, lock).must {
                    let held = Rc::make_mut(state);
                    match held.binary_search_by_key(&lock, |held| held.lock) {
                        Ok(found) => held[found].depth += 1,
                        Err(place) => held.insert(place, Held { lock, depth: 1, shared: *shared }),
                    }
                }
            }
            StatementKind::Exit { lock } => {
                let meaning = meaning(self.skeleton, self.points_to, at.frame, lock);
                let held = Rc::make_mut(state);
                held.iter_mut().filter(|held| meaning.may_be(held.lock)).for_each(|held| held.depth -= 1);
                held.retain(|held| held.depth > 0);
            }
            _ => {}
        }
        true
    }

    fn enter(&mut self, _: Point, _: &Statement, state: &HeldLocks, _: FrameId) -> HeldLocks {
        state.clone()
    }

    fn leave(&mut self, _: Point, _: &Statement, _: HeldLocks, exit: &HeldLocks) -> HeldLocks {
        exit.clone()
    }
}
