//! Java: class files, jars and directories of them, without running anything.
//!
//! Bytecode becomes three-address code in SSA form ([`lower`]); who refers to what, who calls whom and which threads
//! there are is found together ([`solve`], [`calls`]); what may be null ([`nullness`]) and what may be thrown
//! ([`exceptions`]); then which threads may meet ([`threads`], [`join_loops`]), which locks are held ([`monitors`]), what
//! belongs to one instance of a thread ([`owned`]) and which accesses conflict ([`accesses`]) or race ([`races`]); in the
//! end what depends on the order of threads ([`taint`], [`updates`]) and what is said ([`judge`]).
//!
//! What values may be is found thread by thread ([`ranges`]); the paper's own rule reads it ([`published`]).
//!
//! Deviation from the analysis of `.rwi` programs: choices and dependences look at memory without its order within a
//! thread; a read may be said to see a write that another one of its own thread replaces.
//!
//! Assumptions: executions are sequentially consistent; memory and stack suffice; a thread is interrupted only by code
//! that is seen; inputs do not depend on the order in which threads ask for them; the library does what `models.txt`
//! says.

pub mod accesses;
mod again;
mod answer;
pub mod barriers;
mod call_graph;
mod callbacks;
mod calls;
mod channels;
pub mod classes;
pub mod code;
pub mod conflicts;
mod constraints;
mod derived;
mod entries;
mod exceptions;
mod flow_graph;
mod forwarding;
mod given;
mod initialisers;
mod instances;
mod instructions;
mod join_bounds;
pub mod join_loops;
mod join_order;
pub mod judge;
mod library;
pub mod load;
pub mod lower;
pub mod models;
pub mod monitors;
mod names;
mod nullness;
mod numbers;
mod outputs;
pub mod owned;
pub mod parallelise;
mod poly;
mod pools;
mod propagate;
mod published;
mod races;
mod ranges;
mod running;
mod side_by_side;
pub mod signals;
pub mod slices;
pub mod solve;
mod streams;
mod stubs;
pub mod taint;
pub mod threads;
mod uniform;
pub mod updates;
mod within;
pub mod zip;

pub use answer::{NoAnswer, answer, call_graph, expected, levels};
pub use published::{Told, ToldLocation};
pub use ranges::Effort;
