//! Native programs: the compiler wrapper that instruments them, and the runtime library that
//! controls and records them.
//!
//! The package is compiled twice. As a library for the other crates it holds the host side:
//! `Native` (what the rest asks of a front end), [`compiler`] (`reweave cc`), [`cache`] (where the
//! embedded files are unpacked), [`binary`] (what kind of file a program is) and `symbols` (what
//! its addresses mean). Under `--cfg reweave_runtime`, as a cdylib, it
//! is the runtime that `reweave record` preloads into the target; the build script makes it and
//! the host side embeds it.
//!
//! Invariant: every exported C symbol is behind `cfg(reweave_runtime)`. An interposer in the
//! host side would replace libc functions in the `reweave` command itself.

#[cfg(reweave_runtime)]
mod runtime;

#[cfg(not(reweave_runtime))]
pub mod binary;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub mod cache;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub mod compiler;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
mod embedded;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
mod front_end;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
mod functions;
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub mod symbols;

#[cfg(not(reweave_runtime))]
pub use binary::{Instrumentation, is_instrumented};
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub use embedded::{HEADER, RUNTIME, STUBS};
#[cfg(all(not(reweave_runtime), feature = "front-end"))]
pub use front_end::Native;
