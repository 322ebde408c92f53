//! Findings, events and traces as text and JSON. Findings are data; only this crate makes text of them, and it decides
//! nothing.

pub mod data;
pub mod describe;
pub mod live;
pub mod overview;
mod reads;
pub mod resolve;
pub mod source;
pub mod story;
pub mod text;
pub mod view;

pub use data::{AccessItem, Item, Location, Report, ViewItem};
pub use describe::Describer;
pub use source::Sources;
pub use text::Style;
