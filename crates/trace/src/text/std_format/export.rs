//! A trace as STD text.

use std::io::Write;

use reweave_model::{Addr, LockChange, LockMode, ObjectId, Op, Pc, ThreadId};

use super::super::fields;
use super::{LOCK_SIZE, LOCKS_AT, LeftOut, NAMED_LOCATIONS_AT, NAMES, VARIABLE_SIZE, VARIABLES_AT};
use crate::{Error, Result, Trace};

pub fn location_name(pc: Pc, names: &[String]) -> String {
    match pc.0.checked_sub(NAMED_LOCATIONS_AT) {
        Some(index) if (index as usize) < names.len() => names[index as usize].clone(),
        _ => pc.0.saturating_sub(1).to_string(),
    }
}

/// Names for going out: those of the import where there are some.
struct Namer {
    threads: Vec<String>,
    variables: Vec<String>,
    locks: Vec<String>,
    locations: Vec<String>,
}

impl Namer {
    fn of(trace: &Trace) -> Self {
        let names = trace.footer().and_then(|footer| footer.other.get(NAMES));
        let list = |key: &str| -> Vec<String> {
            let list = names.and_then(|names| names.get(key)).and_then(|list| list.as_array());
            list.map_or(Vec::new(), |list| list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
        };
        Self {
            threads: list("threads"),
            variables: list("variables"),
            locks: list("locks"),
            locations: list("locations"),
        }
    }

    fn thread(&self, thread: ThreadId) -> String {
        self.threads.get(thread.index()).cloned().unwrap_or_else(|| format!("T{thread}"))
    }

    fn variable(&self, addr: Addr) -> String {
        let index = addr.0.wrapping_sub(VARIABLES_AT) / VARIABLE_SIZE as u64;
        self.variables.get(index as usize).cloned().unwrap_or_else(|| format!("{:#x}", addr.0))
    }

    fn lock(&self, object: ObjectId) -> String {
        let index = object.0.wrapping_sub(LOCKS_AT) / LOCK_SIZE as u64;
        self.locks.get(index as usize).cloned().unwrap_or_else(|| format!("{:#x}", object.0))
    }

    /// Imported traces have their location back; recorded ones their code address.
    fn location(&self, pc: Pc) -> String {
        if self.threads.is_empty() { pc.0.to_string() } else { location_name(pc, &self.locations) }
    }
}

pub fn export(trace: &Trace, out: &mut dyn Write) -> Result<LeftOut> {
    let namer = Namer::of(trace);
    let mut left_out = LeftOut::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        let thread = namer.thread(event.thread);
        let location = namer.location(event.pc);
        let mut line = |op: &str, operand: &str| {
            writeln!(out, "{thread}|{op}({operand})|{location}").map_err(Error::io(trace.path()))
        };
        let mut leave_out = |op: &Op<'_>| *left_out.entry(fields::name_of(op)).or_default() += 1;
        match event.op {
            Op::Read { addr, .. } => line("r", &namer.variable(addr))?,
            Op::Write { addr, .. } => line("w", &namer.variable(addr))?,
            Op::Atomic { kind, addr, .. } => {
                let (variable, lock) = (namer.variable(addr), format!("atomic_{:#x}", addr.0));
                line("acq", &lock)?;
                if kind.reads() {
                    line("r", &variable)?;
                }
                if kind.writes() {
                    line("w", &variable)?;
                }
                line("rel", &lock)?;
            }
            Op::Acquire { mode: LockMode::Shared, .. } | Op::Release { mode: LockMode::Shared, .. } => {
                leave_out(&event.op)
            }
            Op::Acquire { .. } | Op::Release { .. } | Op::Wait { .. } | Op::Woken { .. } => {
                match event.op.lock_change() {
                    Some(LockChange::Acquired { lock, .. }) => line("acq", &namer.lock(lock))?,
                    Some(LockChange::Released { lock, .. }) => line("rel", &namer.lock(lock))?,
                    None => leave_out(&event.op),
                }
            }
            Op::Fork { child, .. } => line("fork", &namer.thread(child))?,
            Op::Join { child } => line("join", &namer.thread(child))?,
            Op::AtomicEnter { .. } => line("begin", "")?,
            Op::AtomicExit => line("end", "")?,
            // Nothing that an analysis of STD traces could miss.
            Op::Begin | Op::End | Op::Blocked { .. } | Op::Refused { .. } | Op::Notify { .. } | Op::Detach { .. } => {}
            op if !op.is_step() => {}
            op => leave_out(&op),
        }
    }
    Ok(left_out)
}
