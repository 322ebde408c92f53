//! `replay --gdb`: the debugger starts the program, the session answers it as usual, and the target stops itself right
//! before the bug.

use std::ffi::OsString;
use std::process::Command;

use reweave_conductor::shared::ENV_SOCKET;

use crate::replay::Recording;
use reweave_launch::folder::PrivateFolder;
use reweave_launch::session::{Session, Stays};
use reweave_launch::target::{Input, Program, preload};
use reweave_launch::{Error, Result};

/// Runs gdb on the recording; returns its exit status.
pub fn debug(recording: &Recording, extra: &[OsString]) -> Result<i32> {
    let folder = PrivateFolder::new()?;
    let mut options = recording.options(folder.path().join("again.rwt"))?;
    let program = Program::find(&options.command, &options.cwd)?;
    let runtime = reweave_native::cache::unpack()?.runtime;
    let stop_at = match &recording.goal {
        Some(goal) => goal.steps_before(&recording.trace)?,
        None => None,
    };
    let stop_at = match stop_at {
        Some(steps) => steps,
        None => recording.schedule()?.segments.iter().map(|s| u64::from(s.steps)).sum::<u64>().saturating_sub(1),
    };
    if let Some(script) = options.scripts.first_mut() {
        script.stop_at = stop_at.max(1);
    }
    let session = Session::new(&options, true)?;
    let socket = session.socket();
    let mut command = Command::new("gdb");
    command.current_dir(&options.cwd).envs(options.env.iter().map(|(name, value)| (name, value)));
    // The wrapper sets the variables for the program alone: gdb itself must not be preloaded.
    let wrapper = format!(
        "set exec-wrapper env LD_PRELOAD={} {ENV_SOCKET}={}",
        quoted(&preload(&runtime).to_string_lossy()),
        quoted(&socket.to_string_lossy())
    );
    command.args(["-q", "-ex", &wrapper, "-ex", "set disable-randomization on"]);
    // The runtime uses these for itself; the program still gets them.
    command.args(["-ex", "handle SIGSYS nostop noprint pass"]);
    if let Input::File(path) = &options.input {
        command.args(["-ex", &format!("run < {}", quoted(&path.to_string_lossy()))]);
    } else {
        command.args(["-ex", "run"]);
    }
    command.args(extra).arg("--args").arg(&program.path).args(&program.args);
    let status = command.status().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::Missing {
            what: "gdb".into(),
            next: "install it (Debian, Ubuntu: apt install gdb) or replay without --gdb".into(),
        },
        _ => Error::CannotRun { program: "gdb".into(), source },
    })?;
    let _ = session.finish(Stays::WhoeverRuns);
    Ok(status.code().unwrap_or(0))
}

/// For the shell that gdb starts programs with.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
