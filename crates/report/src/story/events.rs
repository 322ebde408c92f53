//! What happens: the steps of the run that the finding is about, thread by thread as the schedule has them.

use std::collections::{BTreeSet, HashMap};

use super::{Happening, at, lock_name};
use crate::data::Item;
use crate::view::{Class, Row, Run, Step};

/// Turns of threads that are told before the first access of the finding, and after the last one.
const BEFORE: usize = 5;
const AFTER: usize = 5;
/// Accesses in a row that are told one by one; more are summed up.
const SINGLE: usize = 3;

/// A clause, and whether it can be summed up with its neighbours.
struct Clause {
    text: String,
    access: Option<Access>,
    marked: bool,
    /// It says that something is lost.
    telling: bool,
}

struct Access {
    object: String,
    value: Option<String>,
    at: String,
    writes: bool,
}

struct Turn {
    thread: u32,
    clauses: Vec<Clause>,
}

pub fn happenings(item: &Item, run: &Run) -> Vec<Happening> {
    let interest = Interest::of(item, run);
    let mut turns: Vec<Turn> = Vec::new();
    let mut lost = Lost::default();
    // Steps that the view left out lie in between.
    let mut gap = false;
    for row in &run.rows {
        let Row::Step(step) = row else {
            gap = true;
            continue;
        };
        let stale = lost.see(step, &interest);
        if !interest.has(step) {
            continue;
        }
        let mut clause = clause(step, stale, run);
        if std::mem::take(&mut gap) && !turns.is_empty() {
            clause.text = format!("later {}", clause.text);
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
        _ if item.kind == "failure" && !turns.is_empty() => (turns.len() - 1, turns.len() - 1),
        _ => return Vec::new(),
    };
    let shown = first.saturating_sub(BEFORE)..(last + 1 + AFTER).min(turns.len());
    let happening = |turn: &Turn| Happening {
        thread: turn.thread,
        who: run.thread_name(turn.thread),
        clauses: summed_up(&turn.clauses),
    };
    turns[shown].iter().map(happening).collect()
}

/// What the finding is about.
struct Interest {
    objects: BTreeSet<String>,
    threads: BTreeSet<u32>,
}

impl Interest {
    fn of(item: &Item, run: &Run) -> Self {
        let marked = || run.shown().filter(|step| step.mark.is_some());
        let mut objects: BTreeSet<String> = marked().map(|step| step.object.clone()).collect();
        let held = item.accesses.iter().flat_map(|access| &access.locks_held).map(|held| lock_name(held).to_owned());
        objects.extend(held);
        objects.extend(marked().flat_map(|step| step.locks.iter().cloned()));
        if item.kind == "failure" {
            objects.extend(shared(run));
        }
        for wait in marked().filter(|step| step.kind == "wait") {
            objects.extend(looked_at(run, wait));
        }
        objects.remove("");
        Self { objects, threads: marked().map(|step| step.thread).collect() }
    }

    fn has(&self, step: &Step) -> bool {
        step.mark.is_some()
            || self.objects.contains(&step.object)
            || step.class == Class::End && step.what != "exit 0"
            || self.threads.contains(&step.thread) && matches!(step.kind, "end" | "atomic_enter" | "atomic_exit")
    }
}

/// What a thread that waits for a notify looked at before: memory that others change, too, and that has a name or was read under
/// the mutex of the wait.
fn looked_at(run: &Run, wait: &Step) -> impl Iterator<Item = String> {
    let guarded = |step: &Step| step.locks.iter().any(|lock| wait.locks.contains(lock));
    let before = run.shown().filter(|step| step.thread == wait.thread && step.event < wait.event);
    let reads = before.filter(|step| matches!(step.class, Class::Read | Class::Update));
    let read: BTreeSet<&str> =
        reads.filter(|step| !is_address(&step.object) || guarded(step)).map(|step| step.object.as_str()).collect();
    let others = run.shown().filter(|step| step.thread != wait.thread);
    let writes = others.filter(|step| matches!(step.class, Class::Write | Class::Update));
    let written: BTreeSet<&str> = writes.map(|step| step.object.as_str()).collect();
    read.intersection(&written).map(|&object| object.to_owned()).collect::<Vec<_>>().into_iter()
}

/// It has no name.
fn is_address(object: &str) -> bool {
    object.starts_with("0x")
}

/// Named memory that several threads use and at least one changes.
fn shared(run: &Run) -> impl Iterator<Item = String> {
    let mut users: HashMap<&str, (u32, bool, bool)> = HashMap::new();
    for step in run.shown().filter(|step| !is_address(&step.object)) {
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

/// Writes over what another thread wrote since the writer last looked. Whether what is written depends on what was read nobody
/// knows, so that this is not told.
#[derive(Default)]
struct Lost {
    last_read: HashMap<(u32, String), (u64, Option<String>)>,
    last_write: HashMap<String, Written>,
}

struct Written {
    event: u64,
    by: u32,
    value: Option<String>,
    /// Another thread has read it.
    read: bool,
}

impl Lost {
    /// What is lost by this write.
    fn see(&mut self, step: &Step, interest: &Interest) -> Option<String> {
        if !interest.objects.contains(&step.object) {
            return None;
        }
        let key = (step.thread, step.object.clone());
        if step.kind == "free" {
            self.last_write.remove(&step.object);
            return None;
        }
        if matches!(step.class, Class::Read | Class::Update)
            && let Some(written) = self.last_write.get_mut(&step.object)
        {
            written.read |= written.by != step.thread;
        }
        let new = Written { event: step.event, by: step.thread, value: step.value.clone(), read: false };
        match step.class {
            Class::Read => drop(self.last_read.insert(key, (step.event, step.value.clone()))),
            Class::Update => drop(self.last_write.insert(step.object.clone(), new)),
            Class::Write => {
                let read = self.last_read.get(&key).cloned();
                let old = self.last_write.insert(step.object.clone(), new)?;
                let (read_at, seen) = read?;
                if old.by == step.thread || old.event < read_at {
                    return None;
                }
                let value = |value: Option<String>| value.map_or(String::new(), |value| format!(" ({value})"));
                let lost = if old.read { "is overwritten" } else { "is lost" };
                let (by, wrote, seen) = (old.by, value(old.value), seen.as_deref().unwrap_or(&step.object));
                return Some(format!("what T{by} wrote{wrote} {lost}, T{} had read {seen} before that", step.thread));
            }
            _ => {}
        }
        None
    }
}

/// Who holds what a thread waits for: by what it did last before, and by what it holds when it next does something. What lies
/// between is not always shown.
fn holder(waits: &Step, run: &Run) -> Option<u32> {
    let others = || run.shown().filter(|other| other.thread != waits.thread);
    let has_it = |thread: u32| {
        let own = || others().filter(move |step| step.thread == thread);
        let before = own().take_while(|step| step.event < waits.event).last();
        let after = own().find(|step| step.event > waits.event);
        let took = before.is_some_and(|step| match step.kind {
            "acquire" => step.object == waits.object || step.locks.contains(&waits.object),
            "release" => step.object != waits.object && step.locks.contains(&waits.object),
            "wait" => false,
            _ => step.locks.contains(&waits.object),
        });
        took && after.is_none_or(|step| step.locks.contains(&waits.object))
    };
    let threads: BTreeSet<u32> = others().map(|step| step.thread).collect();
    threads.into_iter().find(|&thread| has_it(thread))
}

fn clause(step: &Step, stale: Option<String>, run: &Run) -> Clause {
    let mark = step.mark.map_or(String::new(), |number| format!("({number}) "));
    let through = if step.through.is_empty() { String::new() } else { format!(" in {}", step.through) };
    let place = if step.place.line == 0 { through } else { format!("{through} at {}", at(&step.place)) };
    let value = step.value.as_ref().map_or(String::new(), |value| format!(" (= {value})"));
    let object = &step.object;
    let text = match (step.class, step.kind) {
        (Class::Read, _) => format!("reads {object}{value}{place}"),
        (Class::Write, "free") => format!("frees {object}{place}"),
        (Class::Write, _) => format!("writes {object}{value}{place}"),
        (Class::Update, _) => format!("updates {object}{value}{place}"),
        (_, "acquire") => format!("takes {object}{place}"),
        (_, "woken") => format!("is woken on {object}{place}"),
        (_, "release") => format!("gives {object} back{place}"),
        (_, "notify") => format!("{}{place}", step.what.replacen("notify", "notifies", 1)),
        (_, "wait") => format!("waits for a notify on {object}{place}"),
        (_, "create") => format!("creates {object}{place}"),
        (_, "destroy") => format!("destroys {object}{place}"),
        (Class::Wait, _) => {
            let held = holder(step, run).map_or(String::new(), |thread| format!(", which T{thread} holds"));
            format!("{}{place}{held}", step.what)
        }
        (Class::End, "hang") => "can do nothing more, and nobody else can: the run hangs".into(),
        (Class::End, "fatal") => format!("is killed by {}{place}", step.what),
        (Class::End, _) => format!("ends the program with status {}", step.what.trim_start_matches("exit ")),
        (_, "end") => "comes to its end".into(),
        (_, "atomic_enter") => format!("enters the atomic block{place}"),
        (_, "atomic_exit") => format!("leaves the atomic block{place}"),
        (_, "fork") => format!("{}{place}", step.what.replacen("start", "starts", 1)),
        _ => format!("{}{place}", step.what),
    };
    let after = stale.map_or(String::new(), |lost| format!(": {lost}"));
    let told = !after.is_empty();
    let accessed = matches!(step.class, Class::Read | Class::Write | Class::Update) && step.kind != "free";
    let access = (accessed && step.mark.is_none() && !told).then(|| Access {
        object: object.clone(),
        value: step.value.clone(),
        at: at(&step.place),
        writes: step.class != Class::Read,
    });
    Clause { text: format!("{mark}{text}{after}"), access, marked: step.mark.is_some(), telling: told }
}

/// Joins accesses of the same variable where there are many in a row; locks around them go with them.
fn summed_up(clauses: &[Clause]) -> Vec<String> {
    let mut told = Vec::new();
    let mut rest = clauses;
    while !rest.is_empty() {
        let quiet = rest.iter().take_while(|clause| !clause.marked && !clause.telling).count();
        let accesses: Vec<&Access> = rest[..quiet].iter().filter_map(|clause| clause.access.as_ref()).collect();
        if accesses.len() <= SINGLE {
            let whole = quiet.max(1);
            told.extend(rest[..whole].iter().map(|clause| clause.text.clone()));
            rest = &rest[whole..];
            continue;
        }
        // Only up to the last access: what follows (the end of the thread, a lock given back) is told.
        let until = rest[..quiet].iter().rposition(|clause| clause.access.is_some()).unwrap_or(0);
        let mut objects: Vec<&str> = accesses.iter().map(|access| access.object.as_str()).collect();
        objects.sort_unstable();
        objects.dedup();
        for object in objects {
            let of: Vec<&&Access> = accesses.iter().filter(|access| access.object == object).collect();
            let places: BTreeSet<&str> = of.iter().map(|access| access.at.as_str()).collect();
            let places = super::listed(&places.into_iter().map(str::to_owned).collect::<Vec<_>>());
            let writes = of.iter().filter(|access| access.writes).count();
            let from = of.first().and_then(|access| access.value.clone());
            let to = of.last().and_then(|access| access.value.clone());
            let values = match (from, to) {
                (Some(from), Some(to)) if from != to => format!(", from {from} to {to}"),
                (_, Some(to)) => format!(" (= {to})"),
                _ => String::new(),
            };
            let verb = if writes == 0 { "reads" } else { "reads and writes" };
            told.push(format!("{verb} {object} {} times at {places}{values}", of.len()));
        }
        rest = &rest[until + 1..];
    }
    told
}
