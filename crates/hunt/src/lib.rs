//! Looks for bugs by running a program: confirm, explore, minimise, replay, and the pipeline of `reweave test`.
//!
//! Programs are started by `reweave-launch`; what they are written in is nothing this crate knows.

mod budget;
pub mod classes;
pub mod compare;
pub mod confirm;
mod correspond;
pub mod debugger;
pub mod explore;
mod jobs;
pub mod known;
pub mod names;
mod outside;
pub mod pipeline;
pub mod replay;
