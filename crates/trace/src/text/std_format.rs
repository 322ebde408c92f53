//! STD: one event per line, `thread|op(operand)|location`, with the operations `r w acq rel fork join begin end`.
//!
//! It has neither values nor branches. Coming in, every write gets a value of its own and every read returns the last one
//! (0 at first), and [`crate::Meta::abstract_values`] is set. Only outermost acquisitions are events with us: a
//! re-entrant `acq` and its `rel` are dropped. A file `NAME.loc` beside it (`location text:line`) names the locations.
//!
//! Going out, what STD cannot say is left out and counted: an atomic access becomes one inside a lock of its own, a wait
//! releases and acquires its mutex; barriers, semaphores and the like are lost.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;

use reweave_model::{AccessFlags, Addr, LockMode, ObjectId, Op, Pc, Place, ThreadId, Value};

use super::{Finish, Lines};
use crate::{Error, Footer, Meta, Result, Symbols, Trace, TraceBuilder};

/// Events that the output could not express, by kind.
pub type LeftOut = BTreeMap<&'static str, u64>;

const VARIABLES_AT: u64 = 0x1_0000;
const LOCKS_AT: u64 = 0x4000_0000_0000;
/// Code addresses of locations that are no numbers start here; number `n` is at `n + 1`.
const NAMED_LOCATIONS_AT: u64 = 1 << 40;
/// Where the names stand in the footer.
const NAMES: &str = "std_names";

/// Names numbered in order of appearance.
#[derive(Default)]
struct Names {
    ids: HashMap<String, usize>,
    all: Vec<String>,
}

impl Names {
    fn id(&mut self, name: &str) -> usize {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        self.ids.insert(name.to_owned(), self.all.len());
        self.all.push(name.to_owned());
        self.all.len() - 1
    }
}

#[derive(Default)]
struct Importer {
    threads: Names,
    variables: Names,
    locks: Names,
    locations: Names,
    /// The last value written, by variable.
    values: Vec<u64>,
    last_value: u64,
    /// How deep each thread is in each lock.
    depths: HashMap<(ThreadId, usize), u32>,
    children: HashMap<ThreadId, u32>,
    depth_of_blocks: HashMap<ThreadId, u32>,
    pcs: std::collections::BTreeSet<u64>,
}

pub(super) fn import(mut lines: Lines<'_>, builder: &mut TraceBuilder) -> Result<Finish> {
    builder.set_meta(&Meta {
        program: vec![lines.path.display().to_string()],
        tool: env!("CARGO_PKG_VERSION").into(),
        instrumented: true,
        abstract_values: true,
        ..Meta::default()
    })?;
    let mut importer = Importer::default();
    while let Some(line) = lines.next()? {
        if line.starts_with('#') {
            continue;
        }
        match importer.line(line) {
            Ok(Some((thread, pc, op))) => builder.push(thread, pc, op)?,
            Ok(None) => {}
            Err(what) => return Err(lines.fail(what)),
        }
    }
    let symbols = importer.symbols(&lines);
    let names = serde_json::json!({
        "threads": importer.threads.all,
        "variables": importer.variables.all,
        "locks": importer.locks.all,
        "locations": importer.locations.all,
    });
    let mut footer = Footer::default();
    footer.other.insert(NAMES.into(), names);
    Ok(Finish { footer, symbols })
}

impl Importer {
    fn line(&mut self, line: &str) -> Result<Option<(ThreadId, Pc, Op<'static>)>, String> {
        let mut parts = line.split('|');
        let (Some(thread), Some(op), Some(location), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(format!("expected `thread|op(operand)|location`, found `{line}`"));
        };
        let (name, operand) = match op.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or(format!("`{op}` lacks its `)`"))?),
            None => (op, ""),
        };
        if operand.is_empty() && !matches!(name, "begin" | "end") {
            return Err(format!("`{op}` needs an operand"));
        }
        let thread = ThreadId(self.threads.id(thread) as u32);
        let pc = match location.parse::<u64>() {
            Ok(number) if number < NAMED_LOCATIONS_AT - 1 => Pc(number + 1),
            _ => Pc(NAMED_LOCATIONS_AT + self.locations.id(location) as u64),
        };
        self.pcs.insert(pc.0);
        let op = match name {
            "r" | "w" => Some(self.access(name == "w", operand)),
            "acq" => self.acquire(thread, operand),
            "rel" => self.release(thread, operand)?,
            "fork" => {
                let before = self.threads.all.len();
                let child = self.threads.id(operand);
                if child < before {
                    return Err(format!("thread {operand} is forked but has acted or was forked before"));
                }
                let nth = self.children.entry(thread).or_default();
                *nth += 1;
                Some(Op::Fork { child: ThreadId(child as u32), nth: *nth - 1 })
            }
            "join" => Some(Op::Join { child: ThreadId(self.threads.id(operand) as u32) }),
            "begin" => {
                *self.depth_of_blocks.entry(thread).or_default() += 1;
                Some(Op::AtomicEnter { name: Addr(pc.0) })
            }
            "end" => {
                let depth = self.depth_of_blocks.entry(thread).or_default();
                *depth = depth.checked_sub(1).ok_or("`end` without `begin`")?;
                Some(Op::AtomicExit)
            }
            _ => return Err(format!("unknown operation `{name}`: STD has r w acq rel fork join begin end")),
        };
        Ok(op.map(|op| (thread, pc, op)))
    }

    fn access(&mut self, write: bool, variable: &str) -> Op<'static> {
        let id = self.variables.id(variable);
        if id == self.values.len() {
            self.values.push(0);
        }
        let (addr, size, flags) = (Addr(VARIABLES_AT + 8 * id as u64), 8, AccessFlags(0));
        if write {
            self.last_value += 1;
            self.values[id] = self.last_value;
            Op::Write { addr, size, value: Value::Word(self.last_value), flags }
        } else {
            Op::Read { addr, size, value: Value::Word(self.values[id]), flags }
        }
    }

    fn acquire(&mut self, thread: ThreadId, lock: &str) -> Option<Op<'static>> {
        let id = self.locks.id(lock);
        let depth = self.depths.entry((thread, id)).or_default();
        *depth += 1;
        let object = ObjectId(LOCKS_AT + 16 * id as u64);
        (*depth == 1).then_some(Op::Acquire { object, mode: LockMode::Exclusive, tried: false })
    }

    fn release(&mut self, thread: ThreadId, lock: &str) -> Result<Option<Op<'static>>, String> {
        let id = self.locks.id(lock);
        let depth = self.depths.entry((thread, id)).or_default();
        *depth = depth.checked_sub(1).ok_or(format!("releases lock {lock}, which it does not hold"))?;
        let object = ObjectId(LOCKS_AT + 16 * id as u64);
        Ok((*depth == 0).then_some(Op::Release { object, mode: LockMode::Exclusive }))
    }

    /// Locations as source positions: from the `.loc` file if there is one, else their own numbers or names.
    fn symbols(&self, lines: &Lines<'_>) -> Symbols {
        let mut loc = PathBuf::from(lines.path).into_os_string();
        loc.push(".loc");
        let texts = std::fs::read_to_string(loc).unwrap_or_default();
        let texts: HashMap<&str, &str> = texts.lines().filter_map(|line| line.split_once(' ')).collect();
        let place = |pc: u64| {
            let location = location_name(Pc(pc), &self.locations.all);
            let Some(text) = texts.get(location.as_str()) else {
                return Place { function: format!("location {location}"), ..Place::default() };
            };
            let (function, line) = text.rsplit_once(':').unwrap_or((text, ""));
            let file = function.rsplit_once('.').map_or(function, |(class, _)| class);
            Place { file: file.into(), line: line.parse().unwrap_or(0), function: function.into() }
        };
        Symbols::from_places(self.pcs.iter().map(|&pc| (Pc(pc), place(pc))))
    }
}

fn location_name(pc: Pc, names: &[String]) -> String {
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
        let index = addr.0.wrapping_sub(VARIABLES_AT) / 8;
        self.variables.get(index as usize).cloned().unwrap_or_else(|| format!("{:#x}", addr.0))
    }

    fn lock(&self, object: ObjectId) -> String {
        let index = object.0.wrapping_sub(LOCKS_AT) / 16;
        self.locks.get(index as usize).cloned().unwrap_or_else(|| format!("{:#x}", object.0))
    }

    /// Imported traces have their location back; recorded ones their code address.
    fn location(&self, pc: Pc) -> String {
        if self.threads.is_empty() { pc.0.to_string() } else { location_name(pc, &self.locations) }
    }
}

pub(super) fn export(trace: &Trace, out: &mut dyn Write) -> Result<LeftOut> {
    let namer = Namer::of(trace);
    let mut left_out = LeftOut::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        let thread = namer.thread(event.thread);
        let location = namer.location(event.pc);
        let mut line = |op: &str, operand: &str| {
            writeln!(out, "{thread}|{op}({operand})|{location}").map_err(Error::io(trace.path()))
        };
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
            Op::Acquire { object, mode: LockMode::Exclusive, .. } => line("acq", &namer.lock(object))?,
            Op::Release { object, mode: LockMode::Exclusive } => line("rel", &namer.lock(object))?,
            Op::Wait { mutex, .. } => line("rel", &namer.lock(mutex))?,
            Op::Woken { mutex, .. } if mutex != ObjectId(0) => line("acq", &namer.lock(mutex))?,
            Op::Fork { child, .. } => line("fork", &namer.thread(child))?,
            Op::Join { child } => line("join", &namer.thread(child))?,
            Op::AtomicEnter { .. } => line("begin", "")?,
            Op::AtomicExit => line("end", "")?,
            // Nothing that an analysis of STD traces could miss.
            Op::Begin | Op::End | Op::Blocked { .. } | Op::Refused { .. } | Op::Notify { .. } | Op::Detach { .. } => {}
            op if !op.is_step() => {}
            op => *left_out.entry(super::fields::name_of(&op)).or_default() += 1,
        }
    }
    Ok(left_out)
}
