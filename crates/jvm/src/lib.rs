//! The front end of programs on the Java virtual machine (HotSpot, JDK 17 to 25).
//!
//! [`classfile`] reads and writes class files; [`rewrite`] puts calls of the hook class into them. Neither does I/O nor
//! knows a running machine, so both can be used on a jar as it lies there. [`hooks`] are the hook classes themselves.
//! The agent, which brings all that into a machine, is this same package compiled a second time as a shared object; the
//! build script makes it, and `Jvm` (what the rest asks of a front end) starts machines with it.

#[cfg(reweave_runtime)]
mod agent;
pub mod classfile;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
mod front_end;
pub mod hooks;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub mod junit;
pub mod rewrite;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
mod sources;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
mod symbols;

#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub use front_end::Jvm;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub use sources::look_for_sources_in;
