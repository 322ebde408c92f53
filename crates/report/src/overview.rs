//! What is in a trace, at a glance: threads, kinds of events, shared locations, locks. Memory follows the number of
//! locations, not the length of the trace.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use reweave_model::{Addr, BlockedOn, ObjectId, Op, OpKind, Pc, ThreadId};
use reweave_trace::check::{self, Checker};
use reweave_trace::{Outcome, Trace};

use crate::describe::{self, Describer};

#[derive(Clone, Debug, Default)]
pub struct ThreadRow {
    pub events: u64,
    pub name: String,
    /// Who created it, and where.
    pub parent: Option<(ThreadId, Pc)>,
    pub ended: bool,
    /// What it waits for, if that is the last thing it did.
    pub waits: Option<(BlockedOn, ObjectId, Pc)>,
}

#[derive(Clone, Copy, Debug)]
pub struct LocationRow {
    first_thread: ThreadId,
    /// invariant: false while only one thread came here
    several_threads: bool,
    pub reads: u64,
    pub writes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct LockRow {
    pub acquired: u64,
    /// Threads found it taken so often.
    pub contended: u64,
    pub refused: u64,
}

/// What the code tells: how much can be reordered without regard to what was read.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodeRow {
    pub accesses: u64,
    pub constant_address: u64,
    /// Consecutive events of a thread.
    pub pairs: u64,
    pub straight_line: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Overview {
    pub events: u64,
    pub steps: u64,
    pub switches: u64,
    pub kinds: BTreeMap<OpKind, u64>,
    // invariant: indexed by thread id
    pub threads: Vec<ThreadRow>,
    /// By eight-byte word.
    locations: HashMap<u64, LocationRow>,
    pub locks: HashMap<ObjectId, LockRow>,
    pub code: CodeRow,
    /// What the trace checker says.
    pub check: check::Report,
}

impl Overview {
    /// Reads the whole trace once; `progress` hears the number of events so far now and then.
    pub fn of(trace: &Trace, mut progress: impl FnMut(u64)) -> reweave_trace::Result<Self> {
        let mut overview = Self::default();
        let mut last_thread = None;
        let mut checker = Checker::default();
        let facts = trace.symbols().facts();
        let mut last_pc: HashMap<ThreadId, Pc> = HashMap::new();
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            overview.events += 1;
            checker.event(&event);
            if overview.events.is_multiple_of(1 << 16) {
                progress(event.id.0);
            }
            if event.op.is_step() {
                overview.steps += 1;
                overview.switches += u64::from(last_thread.is_some_and(|last| last != event.thread));
                last_thread = Some(event.thread);
                if let Some(last) = last_pc.insert(event.thread, event.pc) {
                    overview.code.pairs += 1;
                    overview.code.straight_line += u64::from(facts.straight_line(last, event.pc));
                }
            }
            if matches!(event.op, Op::Read { .. } | Op::Write { .. } | Op::Atomic { .. }) {
                overview.code.accesses += 1;
                overview.code.constant_address += u64::from(facts.constant_address(event.pc));
            }
            *overview.kinds.entry(event.op.kind()).or_default() += 1;
            overview.thread(event.thread).events += 1;
            overview.thread(event.thread).waits = None;
            match event.op {
                Op::Read { addr, size, .. } => overview.touch(event.thread, addr, size, 1, 0),
                Op::Write { addr, size, .. } => overview.touch(event.thread, addr, size, 0, 1),
                Op::Atomic { addr, size, kind, .. } => {
                    overview.touch(event.thread, addr, size, kind.reads().into(), kind.writes().into());
                }
                Op::Fork { child, .. } => overview.thread(child).parent = Some((event.thread, event.pc)),
                Op::End => overview.thread(event.thread).ended = true,
                Op::ThreadName { thread, name } => {
                    overview.thread(thread).name = String::from_utf8_lossy(name).into_owned();
                }
                Op::Acquire { object, .. } => overview.locks.entry(object).or_default().acquired += 1,
                Op::Blocked { on, object } => {
                    overview.thread(event.thread).waits = Some((on, object, event.pc));
                    if matches!(on, BlockedOn::LockExclusive | BlockedOn::LockShared) {
                        overview.locks.entry(object).or_default().contended += 1;
                    }
                }
                Op::Wait { condition, .. } => {
                    overview.thread(event.thread).waits = Some((BlockedOn::Notify, condition, event.pc));
                }
                Op::BarrierArrive { barrier, .. } => {
                    overview.thread(event.thread).waits = Some((BlockedOn::Barrier, barrier, event.pc));
                }
                Op::Refused { object, on: BlockedOn::LockExclusive | BlockedOn::LockShared, .. } => {
                    overview.locks.entry(object).or_default().refused += 1;
                }
                _ => {}
            }
        }
        overview.check = checker.finish();
        Ok(overview)
    }

    fn thread(&mut self, thread: ThreadId) -> &mut ThreadRow {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, ThreadRow::default());
        }
        &mut self.threads[thread.index()]
    }

    fn touch(&mut self, thread: ThreadId, addr: Addr, size: u32, reads: u64, writes: u64) {
        // A long range counts for its first words only: it would drown the table.
        let last = addr.0.saturating_add(u64::from(size.clamp(1, 64)) - 1);
        for word in addr.0 / 8..=last / 8 {
            let row = self.locations.entry(word);
            let new = LocationRow { first_thread: thread, several_threads: false, reads: 0, writes: 0 };
            let row = row.or_insert(new);
            row.several_threads |= row.first_thread != thread;
            row.reads += reads;
            row.writes += writes;
        }
    }

    /// Words that several threads touched and at least one wrote, busiest first.
    pub fn shared_locations(&self) -> Vec<(Addr, LocationRow)> {
        let shared = self.locations.iter().filter(|(_, row)| row.several_threads && row.writes > 0);
        let mut shared: Vec<_> = shared.map(|(&word, &row)| (Addr(word * 8), row)).collect();
        shared.sort_by_key(|(addr, row)| (std::cmp::Reverse(row.reads + row.writes), addr.0));
        shared
    }
}

/// The overview as text.
pub fn write(trace: &Trace, overview: &Overview, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let describer = Describer::of(trace);
    let meta = trace.meta();
    writeln!(out, "program    {}", meta.program.join(" "))?;
    let policy = if meta.policy.is_empty() { String::new() } else { format!(", {} seed {}", meta.policy, meta.seed) };
    writeln!(out, "recorded   pid {}{policy}, reweave {}", meta.pid, meta.tool)?;
    if !meta.instrumented && !meta.abstract_values {
        let build = &trace.language().how_to_instrument;
        writeln!(out, "           not built with {build}: lock-level events only")?;
    }
    match trace.footer() {
        Some(_) if !trace.damage().is_empty() => writeln!(out, "outcome    not known: the file is damaged")?,
        Some(footer) => {
            let outcome = describe::outcome(&footer.outcome);
            let unknown = footer.outcome == Outcome::Unknown && !meta.abstract_values;
            let normally = if unknown { "not known" } else { "ended normally" };
            writeln!(out, "outcome    {}", outcome.unwrap_or_else(|| normally.into()))?;
            for warning in &footer.warnings {
                writeln!(out, "warning    {warning}")?;
            }
        }
        None => writeln!(out, "outcome    unknown: the recording was cut off")?,
    }
    let per_event = trace.file_len() as f64 / overview.events.max(1) as f64;
    writeln!(
        out,
        "events     {} ({} steps, {} switches of thread), {per_event:.1} bytes/event",
        overview.events, overview.steps, overview.switches
    )?;
    writeln!(out, "\nthreads")?;
    for (id, row) in overview.threads.iter().enumerate() {
        let name = if row.name.is_empty() { String::new() } else { format!(" \"{}\"", row.name) };
        let parent =
            row.parent.map_or(String::new(), |(parent, pc)| format!(" by T{parent} at {}", describer.place(pc)));
        let end = match row.waits {
            Some((on, object, pc)) => {
                format!(", waits for {} at {}", describer.blocked_on(on, object), describer.place(pc))
            }
            None if row.ended || id == 0 => String::new(),
            None => ", never ended".into(),
        };
        writeln!(out, "  T{id:<4} {:>10} events{name}{parent}{end}", row.events)?;
    }
    writeln!(out, "\nevents by kind")?;
    let mut kinds: Vec<_> = overview.kinds.iter().collect();
    kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(**count), kind.name()));
    for (name, count) in kinds {
        writeln!(out, "  {name:<16} {count:>12}")?;
    }
    let shared = overview.shared_locations();
    writeln!(out, "\nshared locations (several threads, at least one writes): {}", shared.len())?;
    for (addr, row) in shared.iter().take(top) {
        writeln!(out, "  {:<32} {:>10} reads {:>10} writes", describer.address(*addr), row.reads, row.writes)?;
    }
    let mut locks: Vec<_> = overview.locks.iter().collect();
    locks.sort_by_key(|(id, row)| (std::cmp::Reverse((row.contended, row.acquired)), id.0));
    writeln!(out, "\nlocks: {}", locks.len())?;
    for (id, row) in locks.iter().take(top) {
        writeln!(
            out,
            "  {:<32} {:>10} acquired {:>8} contended {:>8} refused",
            describer.object(**id),
            row.acquired,
            row.contended,
            row.refused
        )?;
    }
    let code = &overview.code;
    let share = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
    writeln!(
        out,
        "\ncode: {:.0} % of accesses at constant addresses, {:.0} % of consecutive events in straight-line code",
        share(code.constant_address, code.accesses),
        share(code.straight_line, code.pairs)
    )?;
    write_check(&overview.check, describer, top, out)
}

fn write_check(report: &check::Report, describer: Describer<'_>, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let unexplained = report.unexplained_reads();
    writeln!(out, "\nreads no recorded write explains: {unexplained} of {}", report.reads)?;
    if report.private_reads > 0 {
        writeln!(out, "  and {} more of memory that only their own thread uses", report.private_reads)?;
    }
    let mut places: Vec<_> = report.unexplained.iter().collect();
    places.sort_by_key(|(pc, row)| (std::cmp::Reverse(row.count), pc.0));
    for (pc, row) in places.into_iter().take(top) {
        let what = describer.address(row.addr);
        writeln!(out, "  {:>10} at {}, first of {what} (event {})", row.count, describer.place(*pc), row.first)?;
    }
    if !report.is_consistent() {
        writeln!(out, "\ninconsistencies: {}", report.inconsistency_count)?;
        for one in report.inconsistencies.iter().take(top) {
            writeln!(out, "  event {} of T{} at {}: {}", one.event, one.thread, describer.place(one.pc), one.what)?;
        }
    }
    Ok(())
}
