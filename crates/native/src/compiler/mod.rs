//! `reweave cc`, `reweave c++` and `reweave fc`: drop-in compilers that instrument what they build.
//!
//! They stand in front of gcc or clang. Each invocation is read ([`arguments`]), the real
//! compiler is found ([`toolchain`]), flags are added ([`plan`]), and this process becomes that
//! compiler, so its output, exit status and death by signal are its own.
//!
//! Guarantee: an invocation that compiles no C, C++ or Fortran and links nothing (`--version`,
//! `-print-…`, no input) reaches the compiler exactly as given.

mod arguments;
mod plan;
mod response;
mod toolchain;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::cache;
use arguments::Invocation;

/// Exit status for a wrong invocation or environment.
const USAGE: i32 = 2;

/// Which driver the wrapper stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `reweave cc`
    C,
    /// `reweave c++`
    Cxx,
    /// `reweave fc`
    Fortran,
}

impl Language {
    /// The language of a wrapper called by name, as in `CC=reweave-cc`.
    pub fn of_program(argv0: &OsStr) -> Option<Language> {
        match Path::new(argv0).file_name()?.to_str()? {
            "reweave-cc" | "reweave-gcc" | "reweave-clang" => Some(Language::C),
            "reweave-c++" | "reweave-cxx" | "reweave-g++" | "reweave-clang++" => Some(Language::Cxx),
            "reweave-fc" | "reweave-gfortran" => Some(Language::Fortran),
            _ => None,
        }
    }

    fn command(self) -> &'static str {
        match self {
            Language::C => "reweave cc",
            Language::Cxx => "reweave c++",
            Language::Fortran => "reweave fc",
        }
    }
}

/// Runs the real compiler on `args` (without the program's name). Returns only if it could not
/// be started; the value is the exit status to end with.
pub fn run(language: Language, args: Vec<OsString>) -> i32 {
    match prepare(language, args) {
        Ok(mut command) => {
            let error = command.exec();
            let program = command.get_program().display();
            eprintln!("{}: cannot run {program}: {error}", language.command());
        }
        Err(message) => eprintln!("{}: {message}", language.command()),
    }
    USAGE
}

/// The command to become, or what is wrong.
fn prepare(language: Language, args: Vec<OsString>) -> Result<Command, String> {
    let program = toolchain::find(language)?;
    let invocation = Invocation::read(args, language)?;
    if !invocation.does_work() {
        return Ok(program.command(invocation.into_given()));
    }
    let installed = cache::for_compiling().map_err(|error| error.to_string())?;
    let family = toolchain::identify(&program, &installed.root)?;
    Ok(program.command(plan::arguments(&invocation, family, &installed)))
}
