//! `reweave __interpret`: what a script's process runs. Not for people: they name the script itself.

use std::path::PathBuf;

use reweave_launch::exit;

/// Run a script under the command that started this one
#[derive(clap::Args)]
pub struct Args {
    script: PathBuf,
    /// For the script
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<std::ffi::OsString>,
}

pub fn run(args: &Args) -> i32 {
    eprintln!("reweave: {}", reweave_script::interpret::run(&args.script));
    exit::CANNOT_RUN
}
