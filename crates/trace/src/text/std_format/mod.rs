//! STD: one event per line, `thread|op(operand)|location`, with the operations `r w acq rel fork join begin end`.
//!
//! It has neither values nor branches. Coming in, every write gets a value of its own and every read returns the last
//! one (0 at first), and [`crate::Meta::abstract_values`] is set. Only outermost acquisitions are events with us: a
//! re-entrant `acq` and its `rel` are dropped. Recorders write some events twice: a `fork` or `join` that is there word
//! for word already is dropped, and counted. What variables, locks and threads are called is kept for people. A file
//! `NAME.loc` beside it (`location text:line`) names the locations.
//!
//! Going out, what STD cannot say is left out and counted: an atomic access becomes one inside a lock of its own, a
//! wait releases and acquires its mutex; barriers, semaphores and the like are lost.

mod export;
mod fields;
mod names;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, UncheckedAdvice};
use reweave_model::{Addr, LockMode, ObjectId, Op, Pc, Place, ThreadId};

use super::Finish;
use crate::builder::WholeWord;
use crate::symbols::{Frame, SymbolsBuilder};
use crate::{Error, Footer, Meta, Result, Symbols, Trace, TraceBuilder};
pub(super) use export::export;
use export::location_name;
use fields::{Fields, Location, line_len, simple};
use names::{Names, PcSet};

/// Events that the output could not express, by kind.
pub type LeftOut = BTreeMap<&'static str, u64>;

const VARIABLES_AT: u64 = 0x1_0000;
const VARIABLE_SIZE: usize = 8;
const LOCKS_AT: u64 = 0x4000_0000_0000;
const LOCK_SIZE: usize = 16;
/// Code addresses of locations that are no numbers start here; number `n` is at `n + 1`.
const NAMED_LOCATIONS_AT: u64 = 1 << 40;
/// Bytes of a text that go back to the system when they have been read.
const GIVEN_BACK_AT_ONCE: usize = 16 << 20;
/// Bytes between two looks at how far it is.
const LOOK_EVERY: usize = 1 << 20;
/// Where the names stand in the footer.
const NAMES: &str = "std_names";

#[derive(Clone, Copy, Default)]
struct LockState {
    owner: ThreadId,
    depth: u32,
}

#[derive(Clone, Copy, Default)]
struct ThreadState {
    children: u32,
    blocks: u32,
    /// It was forked or has acted.
    known: bool,
    joined: bool,
    /// Who forked it, and who joined it, and where.
    forked_by: Option<(ThreadId, Pc)>,
    joined_by: Option<(ThreadId, Pc)>,
}

#[derive(Default)]
struct Importer {
    threads: Names,
    thread_states: Vec<ThreadState>,
    variables: Names,
    locks: Names,
    lock_states: Vec<LockState>,
    locations: Names,
    /// The last value written, by variable.
    values: Vec<u64>,
    last_value: u64,
    pcs: PcSet,
    /// Lines that were there word for word before, and are dropped.
    repeated: u64,
}

/// What a line says.
enum Parsed {
    Access(WholeWord),
    Other(Op<'static>),
}

enum Text {
    Mapped(Mmap),
    /// What cannot be mapped: pipes, empty files.
    Owned(Vec<u8>),
}

/// Streams what the lines of an STD file say; nothing but the names is kept.
struct Lines {
    path: PathBuf,
    text: Text,
    /// Of the next line.
    at: usize,
    /// What was read before this was given back.
    given_back: usize,
    line: usize,
    importer: Importer,
}

impl Lines {
    fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path).map_err(Error::io(path))?;
        let about = file.metadata().map_err(Error::io(path))?;
        let text = if about.is_file() && about.len() > 0 {
            // SAFETY: nobody is expected to write to it; should the file shrink while we read, the process gets SIGBUS,
            // never wrong data.
            Text::Mapped(unsafe { Mmap::map(&file) }.map_err(Error::io(path))?)
        } else {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(Error::io(path))?;
            Text::Owned(bytes)
        };
        Ok(Self { path: path.to_owned(), text, at: 0, given_back: 0, line: 0, importer: Importer::default() })
    }

    /// What the next line says that says something.
    #[inline]
    fn next(&mut self) -> Result<Option<(ThreadId, Pc, Parsed)>> {
        if self.at - self.given_back >= GIVEN_BACK_AT_ONCE {
            self.give_back();
        }
        let text: &[u8] = match &self.text {
            Text::Mapped(map) => map,
            Text::Owned(bytes) => bytes,
        };
        loop {
            let rest = &text[self.at..];
            if rest.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            let parsed = match simple(rest) {
                Some((fields, len)) => {
                    self.at += len;
                    self.importer.event(fields)
                }
                None => {
                    let len = line_len(rest);
                    self.at += (len + 1).min(rest.len());
                    let line = rest[..len].trim_ascii();
                    if line.is_empty() || line[0] == b'#' {
                        continue;
                    }
                    Fields::of(line).and_then(|fields| self.importer.event(fields))
                }
            };
            match parsed {
                Ok(Some(parsed)) => return Ok(Some(parsed)),
                Ok(None) => {}
                Err(what) => return Err(Error::Text { path: self.path.clone(), line: self.line, what }),
            }
        }
    }

    /// What has been read need not stay in memory: nobody reads it again.
    #[cold]
    fn give_back(&mut self) {
        if let Text::Mapped(map) = &self.text {
            let len = self.at - self.given_back;
            // SAFETY: the mapping is of a file that nobody writes to (see `open`): should a page be read after all, it
            // comes from there again.
            let given = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, self.given_back, len) };
            // It only saves memory.
            given.ok();
        }
        self.given_back = self.at;
    }

    /// How much of the text has been read, from 0 to 1.
    fn progress(&self) -> f64 {
        let len = match &self.text {
            Text::Mapped(map) => map.len(),
            Text::Owned(bytes) => bytes.len(),
        };
        self.at as f64 / len.max(1) as f64
    }
}

pub(super) fn import(path: &Path, builder: &mut TraceBuilder) -> Result<Finish> {
    builder.set_meta(&Meta {
        program: vec![path.display().to_string()],
        tool: env!("CARGO_PKG_VERSION").into(),
        instrumented: true,
        abstract_values: true,
        ..Meta::default()
    })?;
    let mut lines = Lines::open(path)?;
    let mut next_look = 0;
    while let Some((thread, pc, what)) = lines.next()? {
        if lines.at >= next_look {
            builder.set_progress(lines.progress());
            next_look = lines.at + LOOK_EVERY;
        }
        match what {
            Parsed::Access(access) => builder.push_word(thread, pc, access)?,
            Parsed::Other(op) => builder.push(thread, pc, op)?,
        }
    }
    let importer = lines.importer;
    let symbols = importer.symbols(path);
    let names = serde_json::json!({
        "threads": importer.threads.all,
        "variables": importer.variables.all,
        "locks": importer.locks.all,
        "locations": importer.locations.all,
    });
    let mut footer = Footer::default();
    if importer.repeated > 0 {
        let lines = if importer.repeated == 1 { "1 line is" } else { &format!("{} lines are", importer.repeated) };
        footer.warnings.push(format!("{lines} there word for word before (fork, join): left out"));
    }
    footer.other.insert(NAMES.into(), names);
    Ok(Finish { footer, symbols })
}

impl Importer {
    #[inline]
    fn event(&mut self, fields: Fields<'_>) -> Result<Option<(ThreadId, Pc, Parsed)>, String> {
        let Fields { thread, name, operand, location } = fields;
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let thread = self.thread(thread)?;
        let pc = match location {
            Location::Number(number) => Pc(number + 1),
            Location::Name(name) => Pc(NAMED_LOCATIONS_AT + u64::from(self.locations.id(name)?)),
        };
        self.pcs.insert(pc.0);
        if let b"r" | b"w" = name {
            return Ok(Some((thread, pc, Parsed::Access(self.access(name == b"w", operand)?))));
        }
        let op = match name {
            b"acq" => self.acquire(thread, operand)?,
            b"rel" => self.release(thread, operand)?,
            b"fork" => {
                let child = self.threads.id(operand)?;
                let state = self.thread_state(child);
                if state.forked_by == Some((thread, pc)) {
                    self.repeated += 1;
                    return Ok(None);
                }
                state.forked_by = Some((thread, pc));
                if std::mem::replace(&mut state.known, true) {
                    return Err(format!("thread {} is forked but has acted or was forked before", shown(operand)));
                }
                let parent = self.thread_state(thread.0);
                parent.children += 1;
                Some(Op::Fork { child: ThreadId(child), nth: parent.children - 1 })
            }
            b"join" => {
                let child = self.threads.id(operand)?;
                let state = self.thread_state(child);
                if !state.known {
                    return Err(format!("thread {} is joined but was never forked and never acted", shown(operand)));
                }
                if state.joined_by == Some((thread, pc)) {
                    self.repeated += 1;
                    return Ok(None);
                }
                state.joined_by = Some((thread, pc));
                if std::mem::replace(&mut state.joined, true) {
                    return Err(format!("thread {} is joined a second time", shown(operand)));
                }
                Some(Op::Join { child: ThreadId(child) })
            }
            b"begin" => {
                self.thread_state(thread.0).blocks += 1;
                Some(Op::AtomicEnter { name: Addr(pc.0) })
            }
            b"end" => {
                let depth = &mut self.thread_state(thread.0).blocks;
                *depth = depth.checked_sub(1).ok_or("`end` without `begin`")?;
                Some(Op::AtomicExit)
            }
            _ => {
                return Err(format!("unknown operation `{}`: STD has r w acq rel fork join begin end", shown(name)));
            }
        };
        Ok(op.map(|op| (thread, pc, Parsed::Other(op))))
    }

    #[inline]
    fn thread(&mut self, name: &[u8]) -> Result<ThreadId, String> {
        let id = self.threads.id(name)?;
        let state = self.thread_state(id);
        if state.joined {
            return Err(format!("thread {} acts after it was joined", String::from_utf8_lossy(name)));
        }
        state.known = true;
        Ok(ThreadId(id))
    }

    fn thread_state(&mut self, id: u32) -> &mut ThreadState {
        if self.thread_states.len() <= id as usize {
            self.thread_states.resize(id as usize + 1, ThreadState::default());
        }
        &mut self.thread_states[id as usize]
    }

    #[inline]
    fn access(&mut self, is_write: bool, variable: &[u8]) -> Result<WholeWord, String> {
        let id = self.variables.id(variable)? as usize;
        if id == self.values.len() {
            self.values.push(0);
        }
        if is_write {
            self.last_value += 1;
            self.values[id] = self.last_value;
        }
        Ok(WholeWord { is_write, addr: Addr(VARIABLES_AT + (VARIABLE_SIZE * id) as u64), value: self.values[id] })
    }

    fn lock(&mut self, name: &[u8]) -> Result<(&mut LockState, ObjectId), String> {
        let id = self.locks.id(name)? as usize;
        if id == self.lock_states.len() {
            self.lock_states.push(LockState::default());
        }
        Ok((&mut self.lock_states[id], ObjectId(LOCKS_AT + (LOCK_SIZE * id) as u64)))
    }

    fn acquire(&mut self, thread: ThreadId, name: &[u8]) -> Result<Option<Op<'static>>, String> {
        let (lock, object) = self.lock(name)?;
        if lock.depth > 0 && lock.owner != thread {
            let owner = lock.owner.index();
            let name = String::from_utf8_lossy(name);
            return Err(format!("acquires lock {name}, which thread {} holds", self.threads.all[owner]));
        }
        lock.depth += 1;
        lock.owner = thread;
        Ok((lock.depth == 1).then_some(Op::Acquire { object, mode: LockMode::Exclusive, tried: false }))
    }

    fn release(&mut self, thread: ThreadId, name: &[u8]) -> Result<Option<Op<'static>>, String> {
        let (lock, object) = self.lock(name)?;
        if lock.depth == 0 || lock.owner != thread {
            return Err(format!("releases lock {}, which it does not hold", String::from_utf8_lossy(name)));
        }
        lock.depth -= 1;
        Ok((lock.depth == 0).then_some(Op::Release { object, mode: LockMode::Exclusive }))
    }

    /// Locations as source positions: from the `.loc` file if there is one, else their own numbers or names.
    fn symbols(&self, path: &Path) -> Symbols {
        let mut loc = path.to_owned().into_os_string();
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
        let mut symbols = SymbolsBuilder::new(&[]);
        for &pc in &self.pcs.all {
            let Place { function, file, line } = place(pc);
            symbols.frames(Pc(pc), [Frame { function: &function, file: &file, line, column: 0 }]);
        }
        for (name, at) in self.variables.all.iter().zip((VARIABLES_AT..).step_by(VARIABLE_SIZE)) {
            symbols.variable(Addr(at), VARIABLE_SIZE as u64, &shown_name("variable", name));
        }
        for (name, at) in self.locks.all.iter().zip((LOCKS_AT..).step_by(LOCK_SIZE)) {
            symbols.variable(Addr(at), LOCK_SIZE as u64, &shown_name("lock", name));
        }
        symbols.build()
    }
}

/// A name that a person takes for one: many recorders only have numbers.
fn shown_name<'n>(what: &str, name: &'n str) -> Cow<'n, str> {
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("{what} {name}").into() } else { name.into() }
}

/// What the text calls a thread, if that says more than its number.
pub(crate) fn thread_names(trace: &Trace) -> HashMap<ThreadId, String> {
    let names = trace.footer().and_then(|footer| footer.other.get(NAMES)?.get("threads")?.as_array());
    let all = names.into_iter().flatten().enumerate().filter_map(|(number, name)| {
        let name = name.as_str()?;
        let says_more = name.trim_start_matches('T') != number.to_string();
        says_more.then(|| (ThreadId(number as u32), name.to_owned()))
    });
    all.collect()
}
