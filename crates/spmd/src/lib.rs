//! Races of SPMD programs: MPI one-sided communication, OpenSHMEM, coarrays.
//!
//! Many ranks run one program; a race is two accesses to one rank's memory that can be under way at
//! once. The definition is a table of rules, R1 to R22, that the modules name where they implement
//! them:
//!
//! | rules | what | where |
//! | --- | --- | --- |
//! | R1, R2, R6, R15 | when an operation is over | [`lower`], its module `completion` |
//! | R3, R4, R5, R7 | epochs and locks of windows | [`lower`], its module `epochs` |
//! | R8 to R10, R18 | atomicity | [`rules`] |
//! | R11, R22 | memory that several ranks map | who logs: [`event::Event::Local`] has an owner |
//! | R12 | memory that goes away | [`event::Event::Gone`] |
//! | R13, R14, R20, R21 | messages, collectives | [`lower`], its module `messages` |
//! | R16, R17 | SHMEM's fences, and what was seen | [`rules`], [`values`] |
//! | R19 | SHMEM's locks | [`lower`], [`rules`] |
//! | threads | strands | [`lower`], its module `threads` |
//!
//! Nothing here knows MPI. The paper is *Active Testing* (Park, 2012), chapters 4.1, 7 and 8
//! (UPC-Thrille); deviations are named where they happen.

pub mod access;
pub mod event;
pub mod hang;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub mod host;
pub mod ids;
pub mod logfile;
pub mod look;
pub mod lower;
pub mod offline;
pub mod order;
pub mod owner;
pub mod phases;
pub mod plan;
pub mod repeated;
pub mod rules;
#[cfg(reweave_runtime)]
#[expect(clippy::allow_attributes, reason = "macros that write many functions cannot know which of them need it")]
mod runtime;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub mod session;
pub mod span;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod values;
pub mod wire;
pub mod witness;

#[cfg(test)]
mod tests;
