//! `.rwi` programs as a front end: recognised by their name, run by this very command.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use reweave_launch::front_end::{Coverage, FrontEnd, Invocation, Process, Recognition, Visibility};
use reweave_launch::target::Program;
use reweave_launch::{Error, Result};
use reweave_model::Pc;
use reweave_trace::{Language, Module, Symbols};

use crate::language::parse;
use crate::symbols::symbols;

/// The word by which the command runs a script.
pub const COMMAND: &str = "__interpret";
const EXTENSION: &str = "rwi";

#[derive(Clone, Copy, Debug)]
pub struct Script;

impl FrontEnd for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn language(&self) -> Language {
        Language { name: "rwi".into(), entry: "main".into(), ..Language::default() }
    }

    fn recognise(&self, file: &Path) -> io::Result<Recognition> {
        if file.extension().is_none_or(|extension| extension != EXTENSION) {
            return Ok(Recognition::NotMine);
        }
        let text = std::fs::read_to_string(file)?;
        Ok(match parse(&file.display().to_string(), &text) {
            Ok(_) => Recognition::Program(Visibility::Full),
            Err(error) => Recognition::Refused(error.to_string()),
        })
    }

    fn is_interpreted(&self) -> bool {
        true
    }

    fn invocation(&self, program: &Program) -> Result<Invocation> {
        let own = std::env::current_exe().map_err(Error::system("finding our own file"))?;
        let mut invocation = Invocation::of(program);
        let script = std::mem::replace(&mut invocation.path, own);
        invocation.name = OsString::from("reweave");
        invocation.args = [OsString::from(COMMAND), script.into()].into_iter().chain(invocation.args).collect();
        Ok(invocation)
    }

    fn starts_others(&self) -> bool {
        false
    }

    fn is_own_process(&self, process: &Process) -> bool {
        process.command.get(1).is_some_and(|word| word == COMMAND)
    }

    fn executable(&self, process: &Process) -> String {
        process.command.get(2).cloned().unwrap_or_default()
    }

    fn symbols(&self, modules: &[Module], pcs: &[Pc]) -> Symbols {
        let script = modules.iter().find(|module| module.path.ends_with(EXTENSION));
        let read = script.and_then(|module| {
            let text = std::fs::read_to_string(&module.path).ok()?;
            let program = parse(&module.path, &text).ok()?;
            Some(symbols(&program, modules, &module.path, pcs))
        });
        read.unwrap_or_default()
    }

    fn shortcoming(&self, seen: &Coverage<'_>) -> String {
        format!("{} did not connect, so nothing was recorded: is it still the same file?", seen.program.name.display())
    }
}
