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

/// Named memory that several threads use and at least one changes.
fn shared(run: &Run) -> impl Iterator<Item = String> {
    let mut users: HashMap<&str, (u32, bool, bool)> = HashMap::new();
    for step in run.shown().filter(|step| !step.object.starts_with("0x")) {
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

/// Writes that nobody will ever read, because another thread goes on from an older value.
#[derive(Default)]
struct Lost {
    last_read: HashMap<(u32, String), (u64, Option<String>)>,
    last_write: HashMap<String, (u64, u32, Option<String>)>,
}

impl Lost {
    /// What is lost by this write.
    fn see(&mut self, step: &Step, interest: &Interest) -> Option<String> {
        if !interest.objects.contains(&step.object) {
            return None;
        }
        let key = (step.thread, step.object.clone());
        match step.class {
            Class::Read => {
                self.last_read.insert(key, (step.event, step.value.clone()));
                None
            }
            Class::Write => {
                let read = self.last_read.get(&key).cloned();
                let written =
                    self.last_write.insert(step.object.clone(), (step.event, step.thread, step.value.clone()));
                // Having read once before is what makes it a change of an old value.
                let ((read_at, old), (written_at, by, value)) = (read?, written?);
                if by == step.thread || written_at < read_at {
                    return None;
                }
                let of = value.map_or(String::new(), |value| format!(" ({value})"));
                let from = old.map_or(String::new(), |old| format!(", {old},"));
                Some(format!("it goes on from what it read before{from} so that what T{by} wrote{of} is lost"))
            }
            Class::Update => {
                self.last_write.insert(step.object.clone(), (step.event, step.thread, step.value.clone()));
                None
            }
            _ => None,
        }
    }
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
        (_, "acquire" | "woken") => format!("takes {object}{place}"),
        (_, "release") => format!("gives {object} back{place}"),
        (_, "create") => format!("creates {object}{place}"),
        (_, "destroy") => format!("destroys {object}{place}"),
        (Class::Wait, _) => {
            let others = run.shown().filter(|other| other.thread != step.thread && other.mark.is_some());
            let holder = others.into_iter().find(|other| other.locks.contains(object)).map(|other| other.thread);
            let held = holder.map_or(String::new(), |thread| format!(", which T{thread} holds"));
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
    Clause { text: format!("{mark}{text}{after}"), access, marked: step.mark.is_some() }
}

/// Joins accesses of the same variable where there are many in a row; locks around them go with them.
fn summed_up(clauses: &[Clause]) -> Vec<String> {
    let mut told = Vec::new();
    let mut rest = clauses;
    while !rest.is_empty() {
        let quiet = rest.iter().take_while(|clause| !clause.marked && clause.text.find("lost").is_none()).count();
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
