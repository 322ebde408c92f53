//! The front ends of this build: the one place that lists them.

use reweave_jvm::Jvm;
use reweave_launch::FrontEnds;
use reweave_native::Native;
use reweave_script::Script;

/// In the order in which they are asked about a program; native ones take whatever can be run.
pub const FRONT_ENDS: FrontEnds = FrontEnds::new(&[&Script, &Jvm, &Native]);
