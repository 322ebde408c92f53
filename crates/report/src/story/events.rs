//! What happens: the steps of the run that the finding is about, thread by thread as the schedule has them.

use std::collections::{BTreeSet, HashMap};

use reweave_model::{Kind, OpKind};

use super::{Clause, Emphasis, StoryStep, at};
use crate::data::Item;
use crate::view::{Class, Row, Run, Step};

/// Turns of threads that are told before the first access of the finding, and after the last one.
const BEFORE: usize = 5;
const AFTER: usize = 5;
/// Accesses in a row that are told one by one; more are summed up.
const SINGLE: usize = 3;

/// A clause, and whether it can be summed up with its neighbours.
struct ClauseDraft {
    text: String,
    access: Option<AccessClause>,
    marked: bool,
    /// Steps that the view left out come before it.
    later: bool,
    /// It says what becomes of an earlier write.
    overwrites: Option<Overwritten>,
}

impl ClauseDraft {
    fn clause(&self) -> Clause {
        let emphasis = match &self.overwrites {
            Some(Overwritten { lost: true, .. }) => Emphasis::Lost,
            _ if self.marked && !self.later => Emphasis::Marked,
            _ => Emphasis::None,
        };
        Clause { text: self.text.clone(), emphasis }
    }
}

struct AccessClause {
    object: String,
    address: Option<u64>,
    value: Option<String>,
    at: String,
    class: Class,
}

struct Turn {
    thread: u32,
    clauses: Vec<ClauseDraft>,
}

pub fn happenings(item: &Item, run: &Run) -> Vec<StoryStep> {
    let interest = Subject::of(item, run);
    let mut turns: Vec<Turn> = Vec::new();
    let mut lost = LostWrites::default();
    // Steps that the view left out lie in between.
    let mut gap = false;
    for row in &run.rows {
        let Row::Step(step) = row else {
            gap = true;
            continue;
        };
        let overwrites = lost.see(step, &interest);
        if !interest.has(step) {
            continue;
        }
        let mut clause = clause(step, overwrites, run);
        if std::mem::take(&mut gap) && !turns.is_empty() {
            (clause.text, clause.later) = (format!("later {}", clause.text), true);
            turns.push(Turn { thread: step.thread, clauses: vec![clause] });
            continue;
        }
        match turns.last_mut() {
            Some(turn) if turn.thread == step.thread => turn.clauses.push(clause),
            _ => turns.push(Turn { thread: step.thread, clauses: vec![clause] }),
        }
    }
    let marked = |turn: &Turn| turn.clauses.iter().any(|clause| clause.marked);
    let (first, last) = match (turns.iter().position(marked), turns.iter().rposition(marked)) {
        (Some(first), Some(last)) => (first, last),
        // A failure that no place stands for: how the run ended.
        _ if item.kind == Kind::Failure && !turns.is_empty() => (turns.len() - 1, turns.len() - 1),
        _ => return Vec::new(),
    };
    let shown = first.saturating_sub(BEFORE)..(last + 1 + AFTER).min(turns.len());
    let happening = |turn: &Turn| StoryStep {
        thread: turn.thread,
        who: run.thread_name(turn.thread),
        clauses: summed_up(&turn.clauses),
    };
    turns[shown].iter().map(happening).collect()
}

/// What the finding is about.
struct Subject {
    objects: BTreeSet<String>,
    threads: BTreeSet<u32>,
}

impl Subject {
    fn of(item: &Item, run: &Run) -> Self {
        let marked = || run.shown().filter(|step| step.mark.is_some());
        let mut objects: BTreeSet<String> = marked().map(|step| step.object.clone()).collect();
        let held = item.accesses.iter().flat_map(|access| &access.locks_held).map(|held| held.name.clone());
        objects.extend(held);
        objects.extend(marked().flat_map(|step| step.locks.iter().cloned()));
        if item.kind == Kind::Failure {
            objects.extend(shared(run));
        }
        for wait in marked().filter(|step| step.kind == OpKind::Wait) {
            objects.extend(looked_at(run, wait));
        }
        objects.remove("");
        Self { objects, threads: marked().map(|step| step.thread).collect() }
    }

    fn has(&self, step: &Step) -> bool {
        step.mark.is_some()
            || self.objects.contains(&step.object)
            || step.class == Class::End && !step.is_normal_exit
            || self.threads.contains(&step.thread)
                && matches!(step.kind, OpKind::End | OpKind::AtomicEnter | OpKind::AtomicExit)
    }
}

/// What a thread that waits for a notify looked at before: memory that others change, too, and that has a name or was
/// read under the mutex of the wait.
fn looked_at(run: &Run, wait: &Step) -> impl Iterator<Item = String> {
    let guarded = |step: &Step| step.locks.iter().any(|lock| wait.locks.contains(lock));
    let before = run.shown().filter(|step| step.thread == wait.thread && step.event < wait.event);
    let reads = before.filter(|step| matches!(step.class, Class::Read | Class::Update));
    let read: BTreeSet<&str> =
        reads.filter(|step| step.has_name || guarded(step)).map(|step| step.object.as_str()).collect();
    let others = run.shown().filter(|step| step.thread != wait.thread);
    let writes = others.filter(|step| matches!(step.class, Class::Write | Class::Update));
    let written: BTreeSet<&str> = writes.map(|step| step.object.as_str()).collect();
    read.intersection(&written).map(|&object| object.to_owned()).collect::<Vec<_>>().into_iter()
}

/// Named memory that several threads use and at least one changes.
pub fn shared(run: &Run) -> impl Iterator<Item = String> {
    let mut users: HashMap<&str, (u32, bool, bool)> = HashMap::new();
    for step in run.shown().filter(|step| step.has_name) {
        let writes = match step.class {
            Class::Read => false,
            Class::Write | Class::Update => true,
            _ => continue,
        };
        let (first, several, written) = users.entry(&step.object).or_insert((step.thread, false, false));
        *several |= *first != step.thread;
        *written |= writes;
    }
    let shared = users.into_iter().filter(|(_, (_, several, written))| *several && *written);
    shared.map(|(name, _)| name.to_owned()).collect::<Vec<_>>().into_iter()
}

/// Writes over what another thread wrote since the writer last looked. Whether what is written depends on what was read
/// nobody knows, so that this is not told.
#[derive(Default)]
struct LostWrites {
    last_read: HashMap<(u32, u64), (u64, Option<String>)>,
    last_write: HashMap<u64, Written>,
}

/// What becomes of an earlier write.
struct Overwritten {
    text: String,
    /// Nobody has read it.
    lost: bool,
}

struct Written {
    event: u64,
    by: u32,
    value: Option<String>,
    /// Another thread has read it.
    read: bool,
}

impl LostWrites {
    /// What is lost by this write.
    fn see(&mut self, step: &Step, interest: &Subject) -> Option<Overwritten> {
        if !interest.objects.contains(&step.object) {
            return None;
        }
        let address = step.address?;
        let key = (step.thread, address);
        if step.kind == OpKind::Free {
            self.last_write.remove(&address);
            return None;
        }
        if matches!(step.class, Class::Read | Class::Update)
            && let Some(written) = self.last_write.get_mut(&address)
        {
            written.read |= written.by != step.thread;
        }
        let new = Written { event: step.event, by: step.thread, value: step.value.clone(), read: false };
        match step.class {
            Class::Read => drop(self.last_read.insert(key, (step.event, step.value.clone()))),
            Class::Update => drop(self.last_write.insert(address, new)),
            Class::Write => {
                let read = self.last_read.get(&key).cloned();
                let old = self.last_write.insert(address, new)?;
                let (read_at, seen) = read?;
                if old.by == step.thread || old.event < read_at {
                    return None;
                }
                let value = |value: Option<String>| value.map_or(String::new(), |value| format!(" ({value})"));
                let lost = if old.read { "is overwritten" } else { "is lost" };
                let (by, wrote, seen) = (old.by, value(old.value), seen.as_deref().unwrap_or(&step.object));
                let text = format!("what T{by} wrote{wrote} {lost}, T{} had read {seen} before that", step.thread);
                return Some(Overwritten { text, lost: !old.read });
            }
            _ => {}
        }
        None
    }
}

/// Who holds what a thread waits for: by what it did last before, and by what it holds when it next does something.
/// What lies between is not always shown.
fn holder(waits: &Step, run: &Run) -> Option<u32> {
    let others = || run.shown().filter(|other| other.thread != waits.thread);
    let has_it = |thread: u32| {
        let own = || others().filter(move |step| step.thread == thread);
        let before = own().take_while(|step| step.event < waits.event).last();
        let after = own().find(|step| step.event > waits.event);
        let took = before.is_some_and(|step| match step.kind {
            OpKind::Acquire => step.object == waits.object || step.locks.contains(&waits.object),
            OpKind::Release => step.object != waits.object && step.locks.contains(&waits.object),
            OpKind::Wait => false,
            _ => step.locks.contains(&waits.object),
        });
        took && after.is_none_or(|step| step.locks.contains(&waits.object))
    };
    let threads: BTreeSet<u32> = others().map(|step| step.thread).collect();
    threads.into_iter().find(|&thread| has_it(thread))
}

fn clause(step: &Step, overwrites: Option<Overwritten>, run: &Run) -> ClauseDraft {
    let mark = step.mark.map_or(String::new(), |number| format!("({number}) "));
    let through = if step.through.is_empty() { String::new() } else { format!(" in {}", step.through) };
    let place = match (step.place.line, step.place.function.as_str()) {
        (0, "") => through,
        (0, function) if step.through.is_empty() => format!(" in {function}"),
        (0, _) => through,
        _ => format!("{through} at {}", at(&step.place)),
    };
    let value = step.value.as_ref().map_or(String::new(), |value| format!(" (= {value})"));
    let object = &step.object;
    let text = match (step.class, step.kind) {
        (Class::Read, _) => format!("reads {object}{value}{place}"),
        (Class::Write, OpKind::Free) => format!("frees {object}{place}"),
        (Class::Write, _) => format!("writes {object}{value}{place}"),
        (Class::Update, _) => format!("updates {object}{value}{place}"),
        (_, OpKind::Acquire) => format!("takes {object}{place}"),
        (_, OpKind::Woken) => format!("is woken on {object}{place}"),
        (_, OpKind::Release) => format!("releases {object}{place}"),
        (_, OpKind::Notify) => format!("{}{place}", step.what.replacen("notify", "notifies", 1)),
        (_, OpKind::Wait) => format!("waits for a notify on {object}{place}"),
        (_, OpKind::Create) => format!("creates {object}{place}"),
        (_, OpKind::Destroy) => format!("destroys {object}{place}"),
        (Class::Wait, _) => {
            let held = holder(step, run).map_or(String::new(), |thread| format!(", which T{thread} holds"));
            format!("{}{place}{held}", step.what)
        }
        (Class::End, OpKind::Hang) => "cannot continue, and neither can any other thread: the run hangs".into(),
        (Class::End, OpKind::Fatal) => format!("is killed by {}{place}", step.what),
        (Class::End, _) => format!("ends the program with status {}", step.what.trim_start_matches("exit ")),
        (_, OpKind::End) => "ends".into(),
        (_, OpKind::AtomicEnter) => format!("enters the atomic block{place}"),
        (_, OpKind::AtomicExit) => format!("leaves the atomic block{place}"),
        (_, OpKind::Fork) => format!("{}{place}", step.what.replacen("start", "starts", 1)),
        _ => format!("{}{place}", step.what),
    };
    let after = overwrites.as_ref().map_or(String::new(), |overwritten| format!(": {}", overwritten.text));
    let accessed = matches!(step.class, Class::Read | Class::Write | Class::Update) && step.kind != OpKind::Free;
    let access = (accessed && step.mark.is_none() && overwrites.is_none()).then(|| AccessClause {
        object: object.clone(),
        address: step.address,
        value: step.value.clone(),
        at: at(&step.place),
        class: step.class,
    });
    ClauseDraft { text: format!("{mark}{text}{after}"), access, marked: step.mark.is_some(), later: false, overwrites }
}

/// Joins accesses of the same variable where there are many in a row; locks around them go with them.
fn summed_up(clauses: &[ClauseDraft]) -> Vec<Clause> {
    let mut told = Vec::new();
    let mut rest = clauses;
    while !rest.is_empty() {
        let quiet = rest.iter().take_while(|clause| !clause.marked && clause.overwrites.is_none()).count();
        let accesses: Vec<&AccessClause> = rest[..quiet].iter().filter_map(|clause| clause.access.as_ref()).collect();
        if accesses.len() <= SINGLE {
            let whole = quiet.max(1);
            told.extend(rest[..whole].iter().map(ClauseDraft::clause));
            rest = &rest[whole..];
            continue;
        }
        // Only up to the last access: what follows (the end of the thread, a lock given back) is told.
        let until = rest[..quiet].iter().rposition(|clause| clause.access.is_some()).unwrap_or(0);
        // In the order in which they were first accessed, as everything else is told in the order in which it was done.
        let mut told_of = BTreeSet::new();
        let objects = accesses.iter().map(|access| access.object.as_str()).filter(|&object| told_of.insert(object));
        for object in objects {
            let of: Vec<&&AccessClause> = accesses.iter().filter(|access| access.object == object).collect();
            let places: BTreeSet<&str> = of.iter().map(|access| access.at.as_str()).collect();
            let places = super::listed(&places.into_iter().map(str::to_owned).collect::<Vec<_>>());
            let all = |class: Class| of.iter().all(|access| access.class == class);
            let from = of.first().and_then(|access| access.value.clone());
            let to = of.last().and_then(|access| access.value.clone());
            // Fields that have one name have values of their own.
            let is_one = of.windows(2).all(|pair| pair[0].address == pair[1].address);
            let values = match (from, to) {
                _ if !is_one => String::new(),
                (Some(from), Some(to)) if from != to => format!(", from {from} to {to}"),
                (_, Some(to)) => format!(" (= {to})"),
                _ => String::new(),
            };
            let verb = match () {
                () if all(Class::Read) => "reads",
                () if all(Class::Write) => "writes",
                () if all(Class::Update) => "updates",
                () => "reads and writes",
            };
            let times = if of.len() == 1 { String::new() } else { format!(" {} times", of.len()) };
            let text = format!("{verb} {object}{times} at {places}{values}");
            told.push(Clause { text, emphasis: Emphasis::None });
        }
        rest = &rest[until + 1..];
    }
    told
}
