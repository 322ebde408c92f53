//! From a trace to a [`Run`]: read twice, once to know which events to keep, once to keep them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reweave_model::{EventId, LockChange, LockMode, ObjectId, Op, ThreadId};
use reweave_trace::{Result, Trace};

use super::links::Linker;
use super::phrase::{memory, phrase};
use super::{Bar, Class, Lane, Link, LinkKind, Marks, Row, Run, Step};
use crate::describe::{self, Describer};
use crate::place::Placed;

/// How much of a run is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViewLimits {
    pub rows: usize,
}

impl Default for ViewLimits {
    fn default() -> Self {
        Self { rows: 10_000 }
    }
}

/// Names longer than this are cut: somebody reads them.
const LONGEST: usize = 200;

/// What a thread holds, with the row where it began to.
struct LockOnLane {
    object: ObjectId,
    shared: bool,
    since: usize,
}

/// What a thread is called after.
#[derive(Default)]
struct ThreadStart {
    function: String,
    /// Whether that is the program's own.
    own: bool,
    tried: u32,
}

/// Events that are looked at for a function to call a thread after: where no library has lines, none has one.
const TRIES: u32 = 64;

pub fn build(trace: &Trace, marks: &Marks, limits: ViewLimits) -> Result<Run> {
    let kept = ShownEvents::of(trace, marks, limits)?;
    let mut maker = ViewBuilder {
        trace,
        describer: Describer::naming(trace),
        marks,
        marked_memory: kept.memory.clone(),
        run: Run::default(),
        row_of: HashMap::new(),
        held: BTreeMap::new(),
        last_write: BTreeMap::new(),
        fold: None,
        names: BTreeMap::new(),
        first: BTreeMap::new(),
    };
    let mut linker = Linker::default();
    let mut number = 0;
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        number += u64::from(event.op.is_step());
        match event.op {
            Op::Module { .. } | Op::Branch | Op::ClockJump { .. } | Op::Revoked | Op::Stopped => continue,
            Op::ThreadName { thread, name } => {
                maker.names.insert(thread, String::from_utf8_lossy(name).into_owned());
                continue;
            }
            _ => {}
        }
        let link = linker.see(&event);
        if kept.has(event.id) {
            maker.keep(&event, number, link);
        } else {
            maker.fold(&event);
        }
    }
    maker.run.steps = number;
    Ok(maker.finish())
}

/// Which events are shown.
struct ShownEvents {
    // invariant: sorted, disjoint; both ends included
    ranges: Vec<(u64, u64)>,
    /// The memory that the finding is about.
    memory: Vec<(u64, u64)>,
}

impl ShownEvents {
    fn of(trace: &Trace, marks: &Marks, limits: ViewLimits) -> Result<Self> {
        let mut memory_of_marks = Vec::new();
        for id in marks.keys() {
            if let Some((addr, size)) = trace.look_at(*id, |event| memory(&event.op))?.flatten() {
                memory_of_marks.push((addr.0, size));
            }
        }
        let last = trace.event_count().saturating_sub(1);
        if trace.event_count() <= limits.rows as u64 {
            return Ok(Self { ranges: vec![(0, last)], memory: memory_of_marks });
        }
        // The ends of the run, and around each mark more before it than after it.
        let points = marks.len() as u64 + 1;
        let around = (limits.rows as u64 / points).max(16);
        let mut ranges = vec![(0, around / 8), (last.saturating_sub(around / 4), last)];
        ranges.extend(marks.keys().map(|id| (id.0.saturating_sub(around / 2), (id.0 + around / 4).min(last))));
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (from, to) in ranges {
            match merged.last_mut() {
                Some((_, end)) if from <= *end + 1 => *end = to.max(*end),
                _ => merged.push((from, to)),
            }
        }
        Ok(Self { ranges: merged, memory: memory_of_marks })
    }

    fn has(&self, id: EventId) -> bool {
        let after = self.ranges.partition_point(|(from, _)| *from <= id.0);
        self.ranges[..after].last().is_some_and(|(_, to)| id.0 <= *to)
    }
}

struct ViewBuilder<'a> {
    trace: &'a Trace,
    describer: Describer<'a>,
    marks: &'a Marks,
    marked_memory: Vec<(u64, u64)>,
    run: Run,
    row_of: HashMap<EventId, usize>,
    held: BTreeMap<ThreadId, Vec<LockOnLane>>,
    /// Who wrote the memory of the finding last, by its first byte.
    last_write: BTreeMap<u64, (EventId, ThreadId)>,
    /// Steps left out since the last row, and whose.
    fold: Option<(u64, BTreeSet<ThreadId>)>,
    names: BTreeMap<ThreadId, String>,
    /// Where each thread was first, and who called that.
    first: BTreeMap<ThreadId, ThreadStart>,
}

impl ViewBuilder<'_> {
    fn keep(&mut self, event: &reweave_model::Event<'_>, number: u64, link: Option<(LinkKind, EventId)>) {
        self.flush();
        let row = self.run.rows.len();
        self.begin(event);
        self.describer = self.describer.at(event.id);
        let phrase = phrase(&event.op, Some(event.pc), self.describer);
        let callers = self.trace.stacks().walk(event.stack);
        let Placed { at, through, stack } = Placed::new(event.pc, callers, self.describer);
        let locks = self.held.get(&event.thread).into_iter().flatten();
        let locks = locks.map(|held| cut(&self.describer.object(held.object))).collect();
        self.run.rows.push(Row::Step(Box::new(Step {
            event: event.id.0,
            number,
            thread: event.thread.0,
            class: phrase.class,
            kind: event.op.kind(),
            is_normal_exit: matches!(event.op, Op::Exit { status: 0 }),
            what: cut(&phrase.what),
            object: cut(&phrase.object),
            has_name: memory(&event.op).is_none_or(|(addr, _)| self.describer.is_variable(addr)),
            value: phrase.value,
            address: memory(&event.op).map(|(addr, _)| addr.0),
            place: at,
            through: through.last().map_or(String::new(), |frame| cut(&frame.function)),
            stack,
            mark: self.marks.get(&event.id).copied(),
            locks,
        })));
        self.row_of.insert(event.id, row);
        let data = self.data_link(event, phrase.class);
        for (kind, from) in [link, data].into_iter().flatten() {
            if let Some(&from) = self.row_of.get(&from) {
                self.run.links.push(Link { kind, from, to: row });
            }
        }
        self.locks(event.thread, &event.op, row, false);
    }

    /// The first place in the program's own code names the thread. Where a thread begins there is none yet, and what a
    /// library does to start it (`std::thread`) says nothing.
    fn begin(&mut self, event: &reweave_model::Event<'_>) {
        let beginning = self.first.entry(event.thread).or_default();
        if beginning.own || event.pc.0 == 0 || beginning.tried == TRIES {
            return;
        }
        beginning.tried += 1;
        let placed = Placed::new(event.pc, self.trace.stacks().walk(event.stack), self.describer);
        let outermost = placed.outermost();
        beginning.own = outermost.line != 0 && !self.describer.language.is_library(&outermost.file);
        if beginning.own || beginning.function.is_empty() {
            beginning.function.clone_from(&outermost.function);
        }
    }

    /// A read of what another thread wrote, where the finding is about it.
    fn data_link(&mut self, event: &reweave_model::Event<'_>, class: Class) -> Option<(LinkKind, EventId)> {
        let (addr, size) = memory(&event.op)?;
        let inside = |(start, length): &(u64, u64)| addr.0 < start + length && *start < addr.0.saturating_add(size);
        let start = self.marked_memory.iter().find(|memory| inside(memory))?.0;
        let link = match class {
            Class::Read | Class::Update => {
                let seen = self.last_write.get(&start).filter(|(_, thread)| *thread != event.thread);
                seen.map(|(write, _)| (LinkKind::Data, *write))
            }
            _ => None,
        };
        if matches!(class, Class::Write | Class::Update) {
            self.last_write.insert(start, (event.id, event.thread));
        }
        link
    }

    fn fold(&mut self, event: &reweave_model::Event<'_>) {
        self.begin(event);
        let class = super::phrase::class(&event.op);
        self.data_link(event, class);
        let (steps, threads) = self.fold.get_or_insert_default();
        *steps += u64::from(event.op.is_step());
        threads.insert(event.thread);
        let row = self.run.rows.len();
        self.locks(event.thread, &event.op, row, true);
    }

    fn flush(&mut self) {
        if let Some((steps, threads)) = self.fold.take() {
            self.run.rows.push(Row::Fold { steps, threads: threads.len() as u32 });
        }
    }

    /// Keeps the books of locks. In a fold a lock is held from, or to, the fold's own row; what is taken and given back
    /// inside is not shown.
    fn locks(&mut self, thread: ThreadId, op: &Op<'_>, row: usize, folded: bool) {
        let held = self.held.entry(thread).or_default();
        match op.lock_change() {
            Some(LockChange::Acquired { lock, mode }) => {
                held.push(LockOnLane { object: lock, shared: mode == LockMode::Shared, since: row });
            }
            Some(LockChange::Released { lock: object, .. }) => {
                // Also a release that another thread's acquire is meant for.
                let own = held.iter().rposition(|held| held.object == object).map(|at| held.remove(at));
                if let Some(held) = own.filter(|held| !folded || held.since < row) {
                    self.bar(thread, &held, row);
                }
            }
            None => {}
        }
    }

    fn bar(&mut self, thread: ThreadId, held: &LockOnLane, to: usize) {
        let lock = cut(&self.describer.object(held.object));
        self.run.bars.push(Bar { thread: thread.0, lock, shared: held.shared, from: held.since, to });
    }

    fn finish(mut self) -> Run {
        self.flush();
        let end = self.run.rows.len().saturating_sub(1);
        for (thread, all) in std::mem::take(&mut self.held) {
            for held in all {
                self.bar(thread, &held, end);
            }
        }
        self.run.bars.retain(|bar| bar.from <= bar.to);
        self.run.bars.sort_by(|a, b| (a.from, a.thread, &a.lock).cmp(&(b.from, b.thread, &b.lock)));
        self.run.outcome = match self.trace.footer() {
            Some(footer) => describe::outcome(&footer.outcome).unwrap_or_else(|| "ended normally".into()),
            None => "unknown: the recording was cut off".into(),
        };
        self.run.lanes = self.first.keys().map(|thread| self.lane(*thread)).collect();
        self.run
    }

    fn lane(&self, thread: ThreadId) -> Lane {
        let name = match self.names.get(&thread) {
            Some(name) => name.clone(),
            None if thread.0 == 0 => self.describer.language.entry.clone(),
            None => self.first.get(&thread).map(|first| first.function.clone()).unwrap_or_default(),
        };
        Lane { label: format!("T{thread}"), name: cut(&name), thread: thread.0 }
    }
}

/// Cuts a name that nobody would read to its end.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
