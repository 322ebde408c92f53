//! `replay --gdb`: the debugger starts the program, the session answers it as usual, and the target stops itself right
//! before the bug. Which debugger it is, the program's front end knows.

use std::ffi::OsString;
use std::io;

use reweave_launch::folder::PrivateFolder;
use reweave_launch::front_end::{Debugger, Debugging, WatchedMemory};
use reweave_launch::session::{Session, Survivors};
use reweave_launch::target::{Input, Program};
use reweave_launch::{Error, Result};

use reweave_model::Op;
use reweave_report::Describer;
use reweave_report::place::Placed;
use reweave_report::view;

use crate::replay::Recording;

/// Runs the debugger on the recording; returns its exit status.
pub fn debug(recording: &Recording, extra: &[OsString]) -> Result<i32> {
    let folder = PrivateFolder::new()?;
    let mut options = recording.options(folder.path().join("again.rwt"))?;
    let program = Program::find(options.front_ends, &options.command, &options.cwd)?;
    if let Some(script) = options.scripts.first_mut() {
        script.stop_at = steps_before_the_bug(recording)?.max(1);
    }
    let session = Session::new(&options, true)?;
    let invocation = program.invocation(options.front_ends, &session.socket())?;
    let input = match &options.input {
        Input::File(path) => Some(path.as_path()),
        Input::Ours { .. } | Input::Nothing => None,
    };
    let (function, watched) = what_it_is_about(recording)?;
    let threads = thread_names(recording)?;
    let debugging = Debugging {
        program: &program,
        invocation: &invocation,
        input,
        extra,
        function: function.as_deref(),
        watched: watched.as_ref(),
        threads: &threads,
    };
    let Debugger { mut command, how_to_get } = program.front_end.debugger(&debugging)?;
    command.current_dir(&options.cwd).envs(options.env.iter().map(|(name, value)| (name, value)));
    let status = command.status().map_err(|source| {
        let debugger = command.get_program().to_string_lossy().into_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Error::Missing { what: debugger, next: how_to_get },
            _ => Error::CannotRun { program: debugger, source },
        }
    })?;
    let _ = session.finish(Survivors::GoOn);
    Ok(status.code().unwrap_or(0))
}

/// What threads are called: `T1 (deposit)`.
fn thread_names(recording: &Recording) -> Result<Vec<String>> {
    let run = view::build(&recording.trace, &view::Marks::new(), view::ViewLimits::default())?;
    Ok((0..run.lanes.len() as u32).map(|thread| run.thread_name(thread)).collect())
}

/// The function of the program's own that the bug happens in, and the memory that it is about. What lies on stacks may
/// lie elsewhere under a debugger.
fn what_it_is_about(recording: &Recording) -> Result<(Option<String>, Option<WatchedMemory>)> {
    let Some(goal) = &recording.goal else { return Ok((None, None)) };
    let trace = &recording.trace;
    let occurrence = goal.occurrence(trace)?;
    let Some(event) = occurrence.and_then(|found| found.events.into_iter().flatten().min()) else {
        return Ok((None, None));
    };
    let mut events = trace.events_from(event)?;
    let Some(event) = events.next()? else { return Ok((None, None)) };
    let at = Placed::new(event.pc, trace.stacks().walk(event.stack), Describer::of(trace)).at;
    let watched = match event.op {
        Op::Read { addr, size, .. } | Op::Write { addr, size, .. } => match trace.symbols().variable(addr) {
            Some(variable) => Some(WatchedMemory::Named(variable.name.to_owned())),
            None => {
                let block = trace.blocks().at(addr, event.id).filter(|block| !block.is_stack);
                block.map(|_| WatchedMemory::At { address: addr.0, size: u64::from(size) })
            }
        },
        _ => None,
    };
    let function = Some(at.function).filter(|name| at.line != 0 && !name.contains(['{', ' ', '<']));
    Ok((function, watched))
}

/// All steps but the last where there is no bug to look for.
fn steps_before_the_bug(recording: &Recording) -> Result<u64> {
    if let Some(goal) = &recording.goal
        && let Some(steps) = goal.steps_before(&recording.trace)?
    {
        return Ok(steps);
    }
    let schedule = recording.schedule()?;
    let all: u64 = schedule.segments.iter().map(|segment| u64::from(segment.steps)).sum();
    Ok(all.saturating_sub(1))
}
