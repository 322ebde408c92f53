//! `reweave`: one file per subcommand under `commands`, none of which holds logic.

mod against;
mod atomic;
mod classes;
mod commands;
mod evidence;
mod facts;
mod front_ends;
mod in_time;
mod output;
mod progress;
mod ranks;
mod size;
mod triage;
mod watcher;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use reweave_native::compiler::{self, Language};

#[derive(Parser)]
#[command(
    name = "reweave",
    version,
    about = "Finds what other interleavings would do to a concurrent program, confirms it, and replays it.",
    after_help = "Examples:\n  \
        reweave cc -g -o bank bank.c -lpthread     build (or: CC=reweave-cc make)\n  \
        reweave test -- ./bank                     record, predict, confirm, report\n  \
        reweave replay reweave-out/1               the bug, every time\n  \
        reweave verify reweave-out                 after the fix: is it gone?\n\n\
        Exit codes: 0 nothing found · 1 findings · 2 usage or environment, or a replay that diverged ·\n\
        3 the program cannot be run · 4 internal error. `record` and `watch` return the program's own status."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Cc(Compiler),
    #[command(name = "c++")]
    Cxx(Compiler),
    Fc(Compiler),
    Test(commands::test::Args),
    Record(commands::record::Args),
    Watch(commands::watch::Args),
    Replay(commands::replay::Args),
    Predict(commands::predict::Args),
    Confirm(commands::confirm::Args),
    Verify(commands::verify::Args),
    Explain(commands::explain::Args),
    Report(commands::report::Args),
    Inspect(commands::inspect::Args),
    Convert(commands::convert::Args),
    Determinism(commands::determinism::Args),
    Parallelise(commands::parallelise::Args),
    Demo(commands::demo::Args),
    Completions(commands::completions::Completions),
    Man(commands::completions::Man),
    #[command(name = reweave_script::COMMAND, hide = true)]
    Interpret(commands::interpret::Args),
}

/// Compile like gcc or clang, adding what reweave needs
///
/// All arguments go to the compiler as they are. REWEAVE_CC, REWEAVE_CXX and REWEAVE_FC choose it (gcc, g++ and gfortran
/// by default). Called as `reweave-cc`, `reweave-c++` or `reweave-fc` the same file is a drop-in CC, CXX or FC for make,
/// CMake, autotools and meson.
#[derive(clap::Args)]
#[command(disable_help_flag = true, after_help = "Example:\n  reweave cc -g -o bank bank.c -lpthread")]
struct Compiler {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

fn main() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    let by_name = args.first().and_then(|name| Language::of_program(name));
    let by_word = match args.get(1).and_then(|word| word.to_str()) {
        Some("cc") => Some(Language::C),
        Some("c++") => Some(Language::Cxx),
        Some("fc") => Some(Language::Fortran),
        _ => None,
    };
    // Before the parser: every argument, `--help` included, is the compiler's.
    if let Some(language) = by_name.or(by_word) {
        let rest = args.split_off((if by_name.is_some() { 1 } else { 2 }).min(args.len()));
        return code(compiler::run(language, rest));
    }
    if matches!(args.get(1).and_then(|word| word.to_str()), Some("test" | "record")) {
        classes::with_long_options(&mut args);
    }
    let matches = match Cli::command().try_get_matches_from(&args) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            if let Some(hint) = without_dashes(&args, &error) {
                eprintln!("\n{hint}");
            }
            return code(error.exit_code());
        }
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    code(match cli.command {
        Command::Cc(compiler) => compiler::run(Language::C, compiler.args),
        Command::Cxx(compiler) => compiler::run(Language::Cxx, compiler.args),
        Command::Fc(compiler) => compiler::run(Language::Fortran, compiler.args),
        Command::Test(args) => commands::test::run(args),
        Command::Record(args) => commands::record::run(args),
        Command::Watch(args) => commands::watch::run(args),
        Command::Replay(args) => commands::replay::run(args),
        Command::Predict(args) => commands::predict::run(args),
        Command::Confirm(args) => commands::confirm::run(args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Explain(args) => commands::explain::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Inspect(args) => commands::inspect::run(args),
        Command::Convert(args) => commands::convert::run(args),
        Command::Determinism(args) => commands::determinism::run(&args),
        Command::Parallelise(args) => commands::parallelise::run(&args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Completions(args) => commands::completions::completions(&args, Cli::command()),
        Command::Interpret(args) => commands::interpret::run(&args),
        Command::Man(args) => commands::completions::man(&args, Cli::command()),
    })
}

/// What to write where a program stands without the `--` that belongs before it.
fn without_dashes(args: &[OsString], error: &clap::Error) -> Option<String> {
    let command = args.get(1)?.to_str().filter(|word| ["test", "record", "watch"].contains(word))?;
    let Some(ContextValue::String(program)) = error.get(ContextKind::InvalidArg) else { return None };
    let meant = error.kind() == ErrorKind::UnknownArgument && !program.starts_with('-');
    let missing = meant && args.iter().all(|word| word != "--");
    missing.then(|| format!("The program goes after `--`: reweave {command} -- {program}"))
}

fn code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
