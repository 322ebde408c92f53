//! What every part of reweave speaks about: ids, events and their bytes, schedules, findings, witnesses.
//!
//! Nothing here does I/O and nothing is specific to native programs, so that every front end can produce the
//! same events.

pub mod analysis;
pub mod descent;
pub mod event;
pub mod finding;
pub mod ids;
pub mod locks;
mod named;
pub mod op_kind;
pub mod position;
pub mod schedule;
pub mod wire;

pub use analysis::{AnalysisId, Claim};
pub use descent::Descent;
pub use event::{
    AccessFlags, AtomicKind, BlockedOn, EpochKind, Event, InputSource, LockMode, MemoryOrder, Misuse, MutexKind,
    ObjectKind, Op, RefusedWhy, Remote, Value, WakeReason,
};
pub use finding::{
    AccessOp, Accessor, AtomicBlock, Awaited, BlockSource, Evidence, Feeds, Finding, Harm, Kind, Novelty, OpName,
    Place, SchedulePrefix, Sighted, Sighting, StaticAccess, Strength, TurningPoint, View, Witness,
};
pub use ids::{Addr, EventId, ObjectId, Pc, ProcessId, StackId, ThreadId, module_id};
pub use locks::{HeldLocks, LockChange};
pub use op_kind::OpKind;
pub use position::{CodePosition, MappedModules};
pub use schedule::{Schedule, Segment, ThreadName};
