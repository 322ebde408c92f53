//! What can differ between two runs of a program and why, and what cannot, without running it.
//!
//! After Ferrara, *Static analysis of the determinism of multithreaded programs*; where the paper leaves something
//! open or is wrong, the definitions here hold ([`paper`] has its own rule as well).
//!
//! **Execution**: a program, its input, an interleaving. Threads are named by descent, accesses by thread, point and
//! how manieth. Every location has an initial write by the system; when main ends every location is read once more.
//! **Source** of a read: the write *instance* it returns. For one input, over all executions, a read is *fixed*, a
//! *choice*, *derived* from a choice, or a choice that returns the *same value* ([`verdict::Kind`]). **Verdict**:
//! `proved`, `can differ` or `unknown` ([`verdict::Verdict`]); never silent.
//!
//! | step | module | says |
//! | --- | --- | --- |
//! | 1 | [`graph`], [`frames`] | control flow; abstract threads, one or many; who calls whom |
//! | 2 | [`points_to`] | what references refer to |
//! | 3 | [`parallel`] | which points start and join do not order |
//! | 4 | [`locks`] | which locks are surely held |
//! | 5 | [`domain`], [`values`] | what registers and memory may hold, which writes a read may see |
//! | 6 | [`reads`], [`choices`], [`order_free`] | what depends on the order of threads |
//! | 7 | [`verdict`], [`paper`], [`parallelise`] | what is said |
//!
//! Assumptions: executions are sequentially consistent interleavings; inputs do not depend on the order in which
//! threads ask for them; verdicts compare executions that end normally (whether they do is the exit status).
//!
//! Deliberately absent: running programs; text for people.

pub mod bits;
pub mod choices;
pub mod domain;
pub mod expected;
pub mod faults;
pub mod findings;
pub mod flow;
pub mod frames;
pub mod graph;
pub mod java;
pub mod locks;
pub mod only;
pub mod order_free;
pub mod paper;
pub mod parallel;
pub mod parallelise;
pub mod points_to;
mod program;
pub mod question;
pub mod reads;
mod script_answer;
pub mod values;
pub mod verdict;

pub use program::{Program, Settings};
pub use script_answer::answer as script_answer;
