//! The compiler wrapper alone, for the tests. Which language it compiles follows from its name.

use std::env;
use std::process::exit;

use reweave_native::compiler::{Language, run};

fn main() {
    let mut args = env::args_os();
    let program = args.next().unwrap_or_default();
    exit(run(Language::of_program(&program).unwrap_or(Language::C), args.collect()));
}
