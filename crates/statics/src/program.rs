//! All analyses of one program, in order.

use reweave_script::language;

use crate::frames::{Point, Skeleton};
use crate::locks::Locks;
use crate::paper::Memories;
use crate::parallel::Parallel;
use crate::points_to::PointsTo;
use crate::reads::Accesses;
use crate::values::locations::Locations;
use crate::values::{self, Values};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Call sites that tell frames apart.
    pub context: usize,
    pub values: values::Settings,
    /// Also keep all memories that threads see, for the paper's rule.
    pub memories: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { context: 2, values: values::Settings::default(), memories: false }
    }
}

/// A program and what is known about it.
pub struct Program<'p> {
    pub skeleton: Skeleton<'p>,
    pub points_to: PointsTo,
    pub parallel: Parallel,
    pub locks: Locks,
    pub locations: Locations,
    pub accesses: Accesses,
    /// If they were asked for.
    pub memories: Option<Memories>,
    /// Rounds over all threads until nothing changed.
    pub rounds: u32,
    /// Where the solution is none: our bug, if there is any.
    pub lacking: Vec<Point>,
}

impl<'p> Program<'p> {
    /// Of a checked program.
    pub fn new(program: &'p language::Program, settings: Settings) -> Self {
        let skeleton = Skeleton::new(program, settings.context);
        let points_to = PointsTo::new(&skeleton);
        let parallel = Parallel::new(&skeleton, &points_to);
        let locks = Locks::new(&skeleton, &points_to);
        let locations = Locations::new(&skeleton, &points_to);
        let mut values = Values::new(&skeleton, &points_to, &parallel, &locks, &locations, settings.values);
        let accesses = Accesses::new(&mut values);
        let memories = settings.memories.then(|| Memories::new(&mut values));
        let (rounds, lacking) = (values.rounds, values.lacking);
        Self { skeleton, points_to, parallel, locks, locations, accesses, memories, rounds, lacking }
    }
}
