//! Reads back what `explain` says beside *what happens*: the finding itself, how its run ended and what it printed, why
//! it is possible, and what the recorded run did. A sentence that is not known here is a complaint.

use std::path::Path;

use reweave_trace::{Outcome, Trace};

use super::bugs::named;
use super::run::{Deed, Ran, Seen};
use super::story::{after_name, deeds, is_at, is_content, mark, number};

/// Follows a lock in a forked child.
const ORPHANED: &str = " (held by a thread of the parent, which is not in the child)";

/// What `explain` printed, taken apart.
pub struct Explained<'t> {
    head: Vec<&'t str>,
    sections: Vec<(&'t str, Vec<&'t str>)>,
}

pub const HAPPENS: &str = "What happens";
const PREDICTED: &str = "What would happen";
const PRINTS: &str = "What it prints";
const WHY: &str = "Why it is possible";
const INSTEAD: &str = "What the recorded run did instead";
const RECORDED: &str = "What the recorded run did";
const TITLES: [&str; 6] = [HAPPENS, PREDICTED, PRINTS, WHY, INSTEAD, RECORDED];

impl<'t> Explained<'t> {
    pub fn new(text: &'t str) -> Self {
        let mut explained = Self { head: Vec::new(), sections: Vec::new() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            match explained.sections.last_mut() {
                _ if TITLES.contains(&line) => explained.sections.push((line, Vec::new())),
                Some((_, lines)) => lines.push(line),
                None => explained.head.push(line),
            }
        }
        explained
    }

    pub fn section<'a>(&'a self, title: &'a str) -> impl Iterator<Item = &'t str> + 'a {
        self.sections.iter().filter(move |(known, _)| *known == title).flat_map(|(_, lines)| lines.iter().copied())
    }
}

/// What the sentences are about.
pub struct Evidence<'a> {
    /// The run that did it.
    pub failing: (&'a Ran, &'a Trace),
    pub recorded: Option<&'a Ran>,
    /// A bug has its name from any of its findings.
    pub others: &'a [(Ran, Trace)],
    /// What the run printed.
    pub output: &'a Path,
}

/// An access as the head of the text has it.
#[derive(Clone)]
struct Told<'t> {
    thread: u32,
    op: &'t str,
    /// `bank.c:15`, or the function.
    place: &'t str,
    locks: Vec<&'t str>,
    /// Something is said of locks: of where a run failed nothing may be.
    says_locks: bool,
}

impl Told<'_> {
    fn names(&self) -> Vec<&str> {
        self.locks.iter().map(|lock| lock.split(" (").next().unwrap_or(lock)).collect()
    }
}

impl Evidence<'_> {
    pub fn complaints(&self, explained: &Explained<'_>) -> Vec<String> {
        let mut complaints = Vec::new();
        let told = self.head(explained, &mut complaints);
        let information = explained.head.first().is_some_and(|line| line.contains("] information"));
        if explained.section(HAPPENS).next().is_none() && !information {
            complaints.push("nothing is said of what happens".into());
        }
        let printed = std::fs::read(self.output).unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed);
        for line in explained.section(PRINTS) {
            if !printed.contains(line.trim()) {
                complaints.push(format!("it did not print {line}"));
            }
        }
        for line in explained.section(WHY) {
            if let Err(why) = self.why(line.trim(), &told) {
                complaints.push(format!("{line}: {why}"));
            }
        }
        if let Some(recorded) = self.recorded {
            complaints.extend(self.of_recorded(recorded, explained));
        }
        complaints
    }

    /// The finding as such.
    fn head<'t>(&self, explained: &Explained<'t>, complaints: &mut Vec<String>) -> Vec<Told<'t>> {
        let mut told: Vec<(Told<'t>, &'t str)> = Vec::new();
        for line in explained.head.iter().skip(1) {
            let words = line.trim();
            let (number, rest) = mark(words);
            match number {
                // `(3)–(12) the same by thread 3, thread 4, thread 5, and 7 more`
                Some(_) if rest.starts_with('–') => {
                    let (first, words) = told.last().expect("somebody did it first").clone();
                    let threads = rest.split("thread ").skip(1).filter_map(super::story::number);
                    told.extend(threads.map(|thread| (Told { thread, ..first.clone() }, words)));
                }
                Some(_) => match access(rest) {
                    Some(one) => told.push((one, rest)),
                    None => complaints.push(format!("what access is this? {line}")),
                },
                None => {
                    if let Some(why) = self.line(words, &mut told) {
                        complaints.push(format!("{line}: {why}"));
                    }
                }
            }
        }
        for (one, words) in &told {
            if !self.has(one) {
                complaints.push(format!("{words}: neither run has such a step, with {} locks", one.locks.len()));
            }
        }
        told.into_iter().map(|(one, _)| one).collect()
    }

    /// A line of the head that is no access; says what is wrong with it.
    fn line<'t>(&self, words: &'t str, told: &mut [(Told<'t>, &'t str)]) -> Option<String> {
        if let Some(locks) = words.strip_prefix("holding ") {
            let (last, _) = told.last_mut()?;
            last.says_locks = true;
            if locks != "no lock" {
                last.locks = super::story::split_locks(locks);
            }
            return None;
        }
        if let Some(outcome) = words.strip_prefix("the confirmed run ") {
            return self.outcome(outcome).err();
        }
        if let Some((line, _)) =
            words.split_once(" | ").filter(|(line, _)| line.bytes().all(|byte| byte.is_ascii_digit()))
        {
            let is_its = told.last().is_some_and(|(one, _)| one.place.ends_with(&format!(":{line}")));
            return (!is_its).then(|| "that is the source of another line".into());
        }
        let known = ["called from ", "… and ", "replay: ", "also ", "not confirmed: ", "suppressed: "];
        let of_a_read =
            ["the value ", "in the trace it saw ", "a branch or ", "output follows ", "the run failed before "];
        if known.iter().chain(&of_a_read).any(|start| words.starts_with(start)) {
            return None;
        }
        match words.split_once(": ") {
            Some((pattern, _)) => {
                let runs: Vec<&Ran> = self.runs().collect();
                let own = named(pattern, &runs, self.failing.1);
                let of_other = |(ran, trace): &(Ran, Trace)| named(pattern, &[ran], trace).is_ok();
                own.err().filter(|_| !self.others.iter().any(of_other))
            }
            None => Some("nobody knows what this means".into()),
        }
    }

    fn runs(&self) -> impl Iterator<Item = &Ran> {
        [Some(self.failing.0), self.recorded].into_iter().flatten()
    }

    /// Whether a run has such an access, with just these locks.
    fn has(&self, told: &Told<'_>) -> bool {
        let is_it = |run: &Ran, seen: &Seen| {
            seen.thread == told.thread
                && may_be(told.op, seen.deed)
                && (told.place.is_empty() || seen.places.contains(told.place))
                && (!told.says_locks || are_held(run, seen, &told.locks))
        };
        // Who is killed does nothing there: it had come so far.
        let is_killed = |run: &Ran| {
            let own = || run.steps.iter().filter(|seen| seen.thread == told.thread);
            let killed = own().find(|seen| seen.deed == Deed::Killed);
            killed.is_some_and(|killed| are_held(run, killed, &told.locks))
                && own().any(|seen| seen.places.contains(told.place))
        };
        self.runs().any(|run| match told.op.starts_with("SIG") {
            true => is_killed(run),
            false => run.steps.iter().any(|seen| is_it(run, seen)),
        })
    }

    /// `ended with status 1; it used memory that had been freed`
    fn outcome(&self, text: &str) -> Result<(), String> {
        let mut parts = text.split("; ");
        let how = parts.next().unwrap_or_default();
        let (ran, trace) = self.failing;
        is_outcome(how.split(": ").next().unwrap_or(how), &ran.outcome)?;
        let printed = std::fs::read(self.output).unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed);
        if let Some((_, message)) = how.split_once(": ").filter(|_| !how.starts_with("hung"))
            && !printed.contains(message)
            && !how.contains("nothing changes any more")
        {
            return Err(format!("it did not print {message}"));
        }
        let rest: Vec<&str> = parts.collect();
        if let Some(line) = rest.iter().find_map(|part| part.strip_prefix("it printed something else: ")) {
            let missing = line.strip_prefix('`').and_then(|line| line.strip_suffix("` is missing"));
            let is_so = missing.map_or_else(|| printed.contains(line), |line| !printed.lines().any(|own| own == line));
            return if is_so { Ok(()) } else { Err("it did print that".into()) };
        }
        for part in rest {
            match part {
                "no visible effect" => {}
                "it used memory that had been freed" | "it freed memory twice" if ran.uses_freed(trace) => {}
                _ => return Err(format!("{part}: is that so?")),
            }
        }
        Ok(())
    }

    fn why(&self, line: &str, told: &[Told<'_>]) -> Result<(), String> {
        let so = |is_so: bool| if is_so { Ok(()) } else { Err("that is not so".to_owned()) };
        let of = |text: &str| {
            let at = mark(&format!("{text} ")).0.ok_or_else(|| format!("which one is {text}?"))?;
            told.get(at as usize - 1).ok_or_else(|| format!("there is no {text}"))
        };
        if let Some(claims) =
            line.strip_suffix(": they have no lock in common.").or(line.strip_suffix(": no lock covers the block."))
        {
            if let Some((ends, _)) = claims.split_once(" are made under a lock (") {
                let (one, two) = ends.split_once(" and ").ok_or("which ones?")?;
                let (one, two) = (of(one)?, of(two)?);
                let both = one.names().iter().any(|lock| two.names().contains(lock));
                return so(both
                    && claims.ends_with("it is released between them")
                    && !one.locks.iter().any(|lock| two.locks.contains(lock)));
            }
            let mut all = Vec::new();
            for claim in claims.split(" and (").map(|claim| format!("({}", claim.trim_start_matches('('))) {
                let (number, held) = claim.split_once(" holds ").ok_or("who holds what?")?;
                let one = of(number)?;
                let names = one.names();
                let same = match held {
                    "no lock" => names.is_empty(),
                    held => !names.is_empty() && names.iter().all(|name| held.contains(name)),
                };
                so(same)?;
                all.push(names);
            }
            return so(all.len() == 2 && all[0].iter().all(|name| !all[1].contains(name)));
        }
        if line.starts_with("Neither holds a lock there.") {
            return so(told.iter().all(|one| one.locks.is_empty()));
        }
        if line.starts_with("Both hold ") {
            let shares = |one: &Told<'_>| one.locks.iter().any(|lock| lock.contains(" (shared, "));
            return so(told.iter().all(|one| !one.locks.is_empty() && (shares(one) || line.contains(" called "))));
        }
        if line.starts_with("Both (") || line.starts_with("What is held at ") {
            return so(told.iter().filter(|one| !one.locks.is_empty()).count() > 1);
        }
        if let Some(ends) = line.strip_prefix("No lock is held at ") {
            let (one, two) = ends.trim_end_matches('.').split_once(" and ").ok_or("where?")?;
            return so(of(one)?.locks.is_empty() && of(two)?.locks.is_empty());
        }
        if line == "Nothing else orders them either: the run did one right after the other." {
            return so(self.are_neighbours(told));
        }
        if line.contains(" and waits for ") {
            let (number, rest) = mark(line);
            let one = told.get(number.ok_or("who?")? as usize - 1).ok_or("there is no such one")?;
            let thread = rest.strip_prefix('T').and_then(super::story::number).ok_or("which thread?")?;
            let awaited = rest.rsplit_once(" and waits for ").map(|(_, what)| what.trim_end_matches('.'));
            let orphan = awaited.and_then(|what| what.strip_suffix(ORPHANED));
            let same = one.op.strip_prefix("wait for ").is_none_or(|what| Some(what) == orphan.or(awaited));
            so(orphan.is_none() || self.is_orphaned(one))?;
            return so(one.thread == thread && same && rest.contains(" holds nothing ") == one.locks.is_empty());
        }
        if line.starts_with("Each waits for what the next one holds") {
            let next = told.iter().cycle().skip(1);
            let holds = |(one, next): (&Told<'_>, &Told<'_>)| next.names().iter().any(|lock| one.op.contains(lock));
            return so(told.iter().zip(next).all(holds));
        }
        if let Some(rest) = line.strip_prefix("So (") {
            let (inside, _) = rest.split_once(" of other threads come").ok_or("who comes?")?;
            let own = told.first().map(|one| one.thread);
            let all = format!("({inside}");
            let others = all.split([',', ' ']).filter_map(|word| mark(&format!("{word} ")).0);
            return so(others
                .into_iter()
                .all(|at| told.get(at as usize - 1).is_some_and(|one| Some(one.thread) != own)));
        }
        let known = [
            "No thread can make progress.",
            "The schedule alone leads there",
            "The synchronization between them does not order them",
            "Nothing else orders them either: a checked reordering",
            "Nothing determines which comes first",
            "Something else may order them",
            "A run did it.",
            "A checked reordering of the recorded run shows it.",
            "A pattern says so; no reordering is known to show it.",
        ];
        so(known.iter().any(|known| line.starts_with(known))).map_err(|_| "nobody knows what this means".into())
    }

    /// Whether this waits for a lock that nobody of its own process holds or ever held.
    fn is_orphaned(&self, told: &Told<'_>) -> bool {
        let steps = &self.failing.0.steps;
        let waits =
            |seen: &&Seen| seen.deed == Deed::Waits && seen.thread == told.thread && seen.places.contains(told.place);
        let takes = |lock: u64| steps.iter().any(|seen| seen.deed == Deed::Takes && seen.object == lock);
        steps.iter().rev().find(waits).is_some_and(|seen| !takes(seen.object))
    }

    /// Whether the run did one access right after the other: two steps of two threads on the same memory, and no step of
    /// anybody between them but of the calls that made them, in which nobody else can come.
    fn are_neighbours(&self, told: &[Told<'_>]) -> bool {
        let [one, two] = told else { return false };
        let steps: Vec<&Seen> = self.failing.0.steps.iter().filter(|seen| seen.is_step).collect();
        let is = |told: &Told<'_>, seen: &Seen| {
            seen.thread == told.thread && may_be(told.op, seen.deed) && seen.places.contains(told.place)
        };
        let both = |first: &Seen, second: &Seen| is(one, first) && is(two, second) || is(two, first) && is(one, second);
        let same_call = |one: &Seen, other: &Seen| one.thread == other.thread && one.places == other.places;
        steps.iter().enumerate().any(|(at, first)| {
            let after = steps[at + 1..].iter().find(|seen| seen.thread != first.thread);
            let calls = steps[at + 1..].iter().take_while(|seen| same_call(first, seen)).count();
            let next =
                steps[at + 1 + calls..].iter().take_while(|seen| after.is_some_and(|after| same_call(after, seen)));
            next.copied().any(|second| both(first, second))
        })
    }

    /// *What the recorded run did* is looked up by the numbers of steps that it names, or by values.
    fn of_recorded(&self, run: &Ran, explained: &Explained<'_>) -> Vec<String> {
        let steps: Vec<&Seen> = run.steps.iter().filter(|seen| seen.is_step).collect();
        let mut complaints = Vec::new();
        let mut last = 0usize;
        for line in explained.section(INSTEAD).chain(explained.section(RECORDED)).map(str::trim) {
            let told = match mark(line) {
                (Some(_), rest) => at_number(&steps, rest, &mut last),
                (None, _) => self.sentence(run, line),
            };
            if let Err(why) = told {
                complaints.push(format!("{line}: {why}"));
            }
        }
        complaints
    }

    fn sentence(&self, run: &Ran, line: &str) -> Result<(), String> {
        if let Some(how) = line.strip_prefix("It ") {
            let how = how.strip_prefix("did it, too, along another schedule. It ").unwrap_or(how);
            return is_outcome(how.trim_end_matches('.'), &run.outcome);
        }
        if let Some(how) = line.strip_prefix("The recorded run is the one that did it. It ") {
            return is_outcome(how.trim_end_matches('.'), &run.outcome);
        }
        if line.starts_with("… and ") || line == "No run had one right after the other so far." {
            return Ok(());
        }
        let thread = line.strip_prefix('T').and_then(number).ok_or("nobody knows what this means")?;
        let rest = after_name(line[1..].trim_start_matches(|digit: char| digit.is_ascii_digit()).trim_start());
        if let Some(rest) = rest.strip_prefix("made no step in ") {
            let (function, _) = rest.rsplit_once(" (").ok_or("where?")?;
            let is_there = |seen: &Seen| seen.thread == thread && seen.functions.contains(function);
            let there = run.steps.iter().any(is_there);
            let came = self.failing.0.steps.iter().any(is_there);
            return if came && !there { Ok(()) } else { Err(format!("recorded: {there}, run that did it: {came}")) };
        }
        if let Some(rest) = rest.strip_prefix("read ") {
            let (read, not) = rest.rsplit_once(", not ").ok_or("not what?")?;
            let (_, value) = read.split_once(" = ").ok_or("read what?")?;
            let has = |run: &Ran, told: &str| {
                run.steps.iter().any(|seen| {
                    seen.thread == thread
                        && matches!(seen.deed, Deed::Reads | Deed::Updates)
                        && is_at(seen, read, &[]).unwrap_or(false)
                        && seen.value.as_ref().is_some_and(|value| is_content(value, told) == Some(true))
                })
            };
            return if has(run, value) && has(self.failing.0, not) { Ok(()) } else { Err("no such reads".into()) };
        }
        Err("nobody knows what this means".into())
    }
}

/// `T2 write balance = 120 at bank.c:24 3 steps later`
fn at_number(steps: &[&Seen], rest: &str, last: &mut usize) -> Result<(), String> {
    let distance: Option<usize> =
        rest.rsplit_once(" steps later").and_then(|(front, _)| front.rsplit_once(' ')?.1.parse().ok());
    let absolute = rest.rsplit_once("(step ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    *last = match (absolute, distance) {
        (Some(absolute), _) => absolute,
        (None, Some(distance)) => *last + distance,
        (None, None) if rest.ends_with(" right after it") => *last + 1,
        (None, None) => return Err("when?".into()),
    };
    let seen = last.checked_sub(1).and_then(|at| steps.get(at)).ok_or_else(|| format!("there is no step {last}"))?;
    let is = format!("step {last} is {:?} of T{} at {:?}", seen.deed, seen.thread, seen.places);
    let words = rest.strip_prefix(&format!("T{} ", seen.thread)).ok_or_else(|| is.clone())?;
    let deeds = deeds(words).ok_or("nobody knows what these words mean")?;
    if let Some(all) = rest.rsplit_once(" of ").filter(|_| absolute.is_some()).and_then(|(_, all)| number(all))
        && all as usize != steps.len()
    {
        return Err(format!("there are {} steps", steps.len()));
    }
    if let (Some((_, told)), Some(value)) = (words.split_once(" = "), &seen.value) {
        // `= 1 → 2`
        let told = told.split(" at ").next().unwrap_or(told);
        let told = told.rsplit_once("→ ").map_or(told, |(_, now)| now);
        if is_content(value, told) == Some(false) {
            return Err(format!("the value is {value:?}"));
        }
    }
    // A misuse is told in the words of the call that is misused.
    let is_done = deeds.contains(&seen.deed) || seen.deed == Deed::Misuses && words.contains("lock ");
    if is_done && is_at(seen, words, deeds)? { Ok(()) } else { Err(is) }
}

/// `read by thread 2 (worker) in f, called at bank.c:15 in withdraw`
fn access(words: &str) -> Option<Told<'_>> {
    let (op, rest) = words.split_once(" by thread ")?;
    let op = op.split(", ").next().unwrap_or(op);
    let place = rest.rsplit_once(" at ").map_or("", |(_, place)| place);
    let place = place.split(" in ").next().unwrap_or(place);
    let place = place.rsplit('/').next().unwrap_or(place);
    Some(Told { thread: number(rest)?, op, place, locks: Vec::new(), says_locks: false })
}

/// The locks of a thread are just these: as many, and each taken where it is said.
fn are_held(run: &Ran, seen: &Seen, told: &[&str]) -> bool {
    let held: Vec<usize> = seen.held().map(|(_, since)| since).collect();
    let taken = |lock: &&str| {
        let Some((_, place)) = lock.rsplit_once("taken at ") else { return true };
        let place = place.split([' ', ')']).next().unwrap_or(place);
        held.iter().any(|&since| run.steps[since].places.contains(place) || run.steps[since].functions.contains(place))
    };
    held.len() == told.len() && told.iter().all(taken)
}

/// Whether an access of a finding in these words can be that.
fn may_be(op: &str, deed: Deed) -> bool {
    use Deed::*;
    let deeds: &[Deed] = match op {
        "read" | "atomic load" | "cas failed" => &[Reads],
        "write" => &[Writes, Frees],
        "atomic store" => &[Writes],
        "free" => &[Frees, Misuses],
        "atomic update" | "atomic exchange" | "cas done" => &[Updates],
        "acquire" | "lock" => &[Takes, Waits, Misuses],
        "acquire after a wait" => &[Wakes],
        "try to acquire" => &[Takes, Refused],
        "release" | "unlock" => &[Releases, Sleeps, Misuses],
        "wait" => &[Sleeps, Wakes],
        "notify" => &[Notifies],
        "barrier" => &[Arrives, Leaves],
        "take" | "try to take" => &[Counts, Refused, Waits],
        "post" => &[Posts],
        "fork" => &[Starts],
        "join" => &[Joins, WaitsForEnd, Misuses],
        "begin" => &[Begins],
        "end" => &[Ends],
        "send" => &[Sends],
        "receive" => &[Receives],
        "destroy" => &[Destroys, Misuses],
        "enter" => &[EntersBlock],
        op if op.starts_with("wait for lock ") => &[Waits, Takes, Wakes],
        op if op.starts_with("wait for the end of ") => &[WaitsForEnd, Joins],
        op if op.starts_with("wait for a notify ") => &[Sleeps, Wakes],
        op if op.starts_with("wait for a change ") => &[Reads],
        op if op.starts_with("wait for ") => &[Waits, Sleeps, Arrives, Leaves, Counts, Once, Takes, Other],
        op if op.starts_with("SIG") => &[Killed],
        _ => return false,
    };
    deeds.contains(&deed)
}

fn is_outcome(how: &str, outcome: &Outcome) -> Result<(), String> {
    let is_so = match outcome {
        Outcome::Exited { status: 0 } => how.starts_with("ended normally"),
        Outcome::Exited { status } => how == format!("ended with status {status}"),
        Outcome::Signalled { .. } => how.starts_with("ended by "),
        Outcome::Hung => how.starts_with("hung"),
        Outcome::Unknown => how.starts_with("did not end") || how.starts_with("ended normally"),
        Outcome::Stopped { why } => how == why,
        Outcome::Exec => how == "went on as another program",
    };
    if is_so { Ok(()) } else { Err(format!("it came to {outcome:?}")) }
}
