//! Native programs as a front end: those built with `reweave cc`, others as far as their synchronization goes, and
//! whatever starts such programs.
//!
//! The runtime library is preloaded into native programs and whatever they start; a program without hooks is recorded
//! only if it is the one that was asked for.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use object::{Object as _, ObjectSection as _};
use reweave_conductor::shared::ENV_PLAIN;
use reweave_launch::front_end::{
    Coverage, Debugger, Debugging, FrontEnd, Invocation, Process, Recognition, Variables, Visibility, WatchedMemory,
};
use reweave_launch::target::Program;
use reweave_launch::{Error, Result, identity};
use reweave_model::Pc;
use reweave_trace::{Language, Module, Symbols};

use crate::binary::{Bytes, Instrumentation, build_id, is_instrumented};
use crate::{cache, symbols};

/// Takes whatever can be run: it belongs at the end of the list of front ends.
#[derive(Clone, Copy, Debug)]
pub struct Native;

impl FrontEnd for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn language(&self) -> Language {
        Language::of_older_traces()
    }

    fn recognise(&self, file: &Path) -> io::Result<Recognition> {
        Ok(match is_instrumented(file) {
            Ok(Instrumentation::Instrumented) => Recognition::Program(Visibility::Full),
            Ok(Instrumentation::Plain) => Recognition::Program(Visibility::Synchronization),
            Ok(Instrumentation::Static) => Recognition::Program(Visibility::Nothing),
            Ok(Instrumentation::Script { .. }) => Recognition::Program(Visibility::WhatItStarts),
            Ok(Instrumentation::Foreign) => {
                let why = "built for another kind of machine: only x86-64 programs can be recorded";
                Recognition::Refused(why.into())
            }
            Ok(Instrumentation::NotExecutable) => Recognition::NotMine,
            // Programs that may be run but not read exist; the kernel decides.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Recognition::Program(Visibility::Synchronization)
            }
            Err(error) => return Err(error),
        })
    }

    fn invocation(&self, program: &Program) -> Result<Invocation> {
        let mut invocation = Invocation::of(program);
        invocation.set(PRELOAD, preload(&runtime()?));
        if program.visibility == Visibility::Synchronization {
            invocation.set(ENV_PLAIN, std::process::id().to_string());
        } else {
            invocation.remove(ENV_PLAIN);
        }
        Ok(invocation)
    }

    fn variables_for_others(&self) -> Result<Vec<(OsString, OsString)>> {
        Ok(vec![(PRELOAD.into(), preload(&runtime()?))])
    }

    fn replay_variables(&self) -> Variables {
        Variables { names: &["LD_LIBRARY_PATH", "GLIBC_TUNABLES"], prefixes: &["OMP_", "GOMP_", "KMP_", "MALLOC_"] }
    }

    fn is_own_process(&self, _: &Process) -> bool {
        true
    }

    fn build(&self, executable: &Path) -> Option<String> {
        match build_id(executable) {
            Some(id) => Some(format!("build id {id}")),
            None => identity::of_content(executable),
        }
    }

    fn symbols(&self, modules: &[Module], pcs: &[Pc]) -> Symbols {
        symbols::resolve(modules, pcs)
    }

    fn runs_free(&self) -> bool {
        true
    }

    fn code_of(&self, process: &Process, function: &str) -> Option<Vec<[u64; 2]>> {
        Some(crate::functions::code_of(process.pid, function))
    }

    fn shortcoming(&self, seen: &Coverage<'_>) -> String {
        let name = seen.program.name.display();
        let build = "build it with `reweave cc` or `reweave c++` (CC=reweave-cc make)";
        match seen.program.visibility {
            _ if seen.recorded => {
                format!("{name} was not built with reweave cc: only lock-level events were recorded; {build}")
            }
            Visibility::Nothing => {
                format!("{name} is statically linked, so nothing was recorded: link it without -static")
            }
            Visibility::WhatItStarts => {
                format!("{name} started no program built with reweave cc, so nothing was recorded; {build}")
            }
            Visibility::Full | Visibility::Synchronization => {
                format!("{name} did not connect, so nothing was recorded: is it set-uid, or was LD_PRELOAD removed?")
            }
        }
    }

    fn blind_spot(&self, executable: &Path) -> Option<String> {
        let version = clang_version(executable).filter(|version| *version < FIRST_CLANG_THAT_SEES_FIELDS)?;
        let name = executable.file_name().unwrap_or(executable.as_os_str()).display();
        Some(format!(
            "{name} was built by clang {version}, which leaves out accesses to fields of local objects that other threads use \
             (main's, say): races on them are missed; build it with gcc or clang {FIRST_CLANG_THAT_SEES_FIELDS}"
        ))
    }

    fn debugger(&self, debugging: &Debugging<'_>) -> Result<Debugger> {
        let Invocation { path, args, env, .. } = debugging.invocation;
        let mut command = Command::new("gdb");
        // The wrapper sets the variables for the program alone: gdb itself must not be preloaded.
        let mut wrapper = OsString::from("set exec-wrapper env");
        for (name, value) in env {
            if let Some(value) = value {
                wrapper.push(format!(" {}={}", name.to_string_lossy(), quoted(&value.to_string_lossy())));
            }
        }
        command.args(["-q", "-ex"]).arg(wrapper).args(["-ex", "set disable-randomization on"]);
        // The runtime uses these for itself; the program still gets them.
        command.args(["-ex", "handle SIGSYS nostop noprint pass"]);
        match debugging.input {
            Some(file) => command.args(["-ex", &format!("run < {}", quoted(&file.to_string_lossy()))]),
            None => command.args(["-ex", "run"]),
        };
        // It stops in the runtime, which is called from there.
        if let Some(function) = debugging.function {
            command.args(["-ex", &format!("frame function {function}")]);
        }
        if let Some(watch) = debugging.watched.and_then(watch) {
            command.args(["-ex", &watch]);
        }
        for (number, name) in debugging.threads.iter().enumerate() {
            // Whoever has ended, or has not begun, is passed over in silence.
            command.args(["-ex", &format!("thread apply {} -s -q thread name {name}", number + 1)]);
        }
        command.args(debugging.extra).arg("--args").arg(path).args(args);
        let how_to_get = "install it (Debian, Ubuntu: apt install gdb) or replay without --gdb".into();
        Ok(Debugger { command, how_to_get })
    }
}

/// How gdb is told to stop when some memory changes.
fn watch(what: &WatchedMemory) -> Option<String> {
    match what {
        WatchedMemory::Named(variable) => Some(format!("watch {variable}")),
        WatchedMemory::At { address, size } => {
            let word = match size {
                1 => "char",
                2 => "short",
                4 => "int",
                8 => "long",
                _ => return None,
            };
            Some(format!("watch *({word} *) {address:#x}"))
        }
    }
}

/// Older ones take a field of an escaped local object for one that did not escape.
const FIRST_CLANG_THAT_SEES_FIELDS: u32 = 20;

/// The version of clang that a program was built by, if it says so.
fn clang_version(executable: &Path) -> Option<u32> {
    let bytes = Bytes::of(executable);
    let file = object::File::parse(&*bytes).ok()?;
    let comment = file.section_by_name(".comment")?;
    let text = String::from_utf8_lossy(comment.data().ok()?).into_owned();
    let (_, rest) = text.split_once("clang version ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

const PRELOAD: &str = "LD_PRELOAD";

/// Our runtime before whatever the user preloads.
fn preload(runtime: &Path) -> OsString {
    let mut value = runtime.as_os_str().to_owned();
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

/// The runtime library, looked for before the first run.
fn runtime() -> Result<PathBuf> {
    static INSTALLED: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*installed {
        Some(known) if known.exists() => Ok(known.clone()),
        _ => Ok(installed.insert(cache::runtime().map_err(Error::front_end)?).clone()),
    }
}

/// For the shell that gdb starts programs with.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
