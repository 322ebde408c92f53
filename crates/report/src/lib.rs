//! Findings, events and traces as text, JSON, HTML, SARIF, JUnit XML and traces for a viewer. Findings are data; only
//! this crate makes text of them, and it decides nothing.

pub mod baseline;
pub mod data;
pub mod describe;
pub mod determinism;
pub mod dossier;
mod escape;
pub mod fingerprint;
pub mod html;
pub mod junit;
pub mod memory;
pub mod overview;
mod pattern;
pub mod perfetto;
pub mod place;
pub mod profile;
mod reads;
pub mod related;
pub mod resolve;
pub mod rules;
pub mod sarif;
pub mod sha256;
pub mod source;
pub mod story;
pub mod suppress;
pub mod text;
pub mod view;

pub use data::{AccessItem, HeldLock, Item, Location, Operation, Report, ViewItem};
pub use describe::Describer;
pub use dossier::Dossier;
pub use pattern::Pattern;
pub use source::Sources;
pub use suppress::Suppressions;
pub use text::Style;
