//! Scripts through the whole command: golden programs, and random ones against all of their schedules.

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod golden;
mod random;
