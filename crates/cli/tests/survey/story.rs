//! Reads the story of a finding back: what it tells is looked for in the traces it is about, by code that shares
//! nothing with what tells it but the trace's own tables of code positions.
//!
//! *What happens* must be a subsequence of the events of the run: same threads, kinds of operation, lines, values, in
//! that order. Who holds a lock and whose write is lost is computed anew. *What the recorded run did* is looked up by
//! the numbers of steps it names.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reweave_model::{AtomicKind, Event, Op, Value};
use reweave_trace::Trace;

/// A step of the run.
struct Seen {
    thread: u32,
    deed: Deed,
    /// `bank.c:24`, of the step itself and of the calls it is made in.
    places: BTreeSet<String>,
    address: u64,
    value: Option<(u64, u32)>,
    /// Who holds which lock just before it.
    holders: BTreeMap<u64, BTreeSet<u32>>,
    object: u64,
    is_step: bool,
}

/// What a story can say that a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deed {
    Reads,
    Writes,
    Updates,
    Frees,
    Takes,
    Releases,
    Waits,
    Sleeps,
    Wakes,
    Notifies,
    Creates,
    Destroys,
    Ends,
    EndsProgram,
    Killed,
    Hangs,
    EntersBlock,
    LeavesBlock,
    Starts,
    Joins,
    Misuses,
    /// Of semaphores, barriers, once, channels.
    Other,
    Silent,
}

fn deed(op: &Op<'_>) -> Deed {
    match op {
        Op::Read { .. } | Op::Atomic { kind: AtomicKind::Load | AtomicKind::CasFailed, .. } => Deed::Reads,
        Op::Write { .. } | Op::Atomic { kind: AtomicKind::Store, .. } => Deed::Writes,
        Op::Atomic { .. } => Deed::Updates,
        Op::Free { .. } => Deed::Frees,
        Op::Acquire { .. } => Deed::Takes,
        Op::Release { .. } => Deed::Releases,
        Op::Blocked { .. } => Deed::Waits,
        Op::Wait { .. } => Deed::Sleeps,
        Op::Woken { .. } => Deed::Wakes,
        Op::Notify { .. } => Deed::Notifies,
        Op::Create { .. } => Deed::Creates,
        Op::Destroy { .. } => Deed::Destroys,
        Op::End => Deed::Ends,
        Op::Exit { .. } => Deed::EndsProgram,
        Op::Fatal { .. } => Deed::Killed,
        Op::Hang => Deed::Hangs,
        Op::AtomicEnter { .. } => Deed::EntersBlock,
        Op::AtomicExit => Deed::LeavesBlock,
        Op::Fork { .. } => Deed::Starts,
        Op::Join { .. } => Deed::Joins,
        Op::Misused { .. } => Deed::Misuses,
        Op::Module { .. } | Op::ClockJump { .. } | Op::Revoked | Op::ThreadName { .. } | Op::Branch => Deed::Silent,
        _ => Deed::Other,
    }
}

/// How the words for it begin, in *what happens* and in *what the recorded run did*; the longer ones first.
const WORDS: &[(&str, Deed)] = &[
    ("reads and writes ", Deed::Writes),
    ("reads ", Deed::Reads),
    ("writes ", Deed::Writes),
    ("updates ", Deed::Updates),
    ("frees ", Deed::Frees),
    ("takes ", Deed::Takes),
    ("releases ", Deed::Releases),
    ("waits for a notify on ", Deed::Sleeps),
    ("waits for ", Deed::Waits),
    ("is woken on ", Deed::Wakes),
    ("notifies ", Deed::Notifies),
    ("creates ", Deed::Creates),
    ("destroys ", Deed::Destroys),
    ("ends the program ", Deed::EndsProgram),
    ("ends", Deed::Ends),
    ("is killed by ", Deed::Killed),
    ("cannot continue", Deed::Hangs),
    ("enters the atomic block", Deed::EntersBlock),
    ("leaves the atomic block", Deed::LeavesBlock),
    ("starts T", Deed::Starts),
    ("read ", Deed::Reads),
    ("atomic load ", Deed::Reads),
    ("failed compare-exchange ", Deed::Reads),
    ("write ", Deed::Writes),
    ("atomic store ", Deed::Writes),
    ("atomic update ", Deed::Updates),
    ("free ", Deed::Frees),
    ("lock ", Deed::Takes),
    ("try-lock ", Deed::Takes),
    ("unlock ", Deed::Releases),
    ("wait on ", Deed::Sleeps),
    ("woken from ", Deed::Wakes),
    ("notify ", Deed::Notifies),
    ("create ", Deed::Creates),
    ("destroy ", Deed::Destroys),
    ("start T", Deed::Starts),
    ("join T", Deed::Joins),
    ("end", Deed::Ends),
];

/// A run, with what a story can be compared with.
pub struct Told {
    steps: Vec<Seen>,
}

impl Told {
    pub fn of(trace: &Trace) -> Self {
        let mut held: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        let mut known: HashMap<u64, BTreeSet<String>> = HashMap::new();
        let mut steps = Vec::new();
        let mut events = trace.events();
        while let Some(event) = events.next().expect("a whole trace") {
            let places = places(trace, &event, &mut known);
            let (address, value) = accessed(&event.op);
            let (object, holders) = (object(&event.op), held.clone());
            let (thread, deed, is_step) = (event.thread.0, deed(&event.op), event.op.is_step());
            change(&event.op, thread, &mut held);
            steps.push(Seen { thread, deed, places, address, value, holders, object, is_step });
        }
        Self { steps }
    }

    /// Everything in *what happens* that this run did not do.
    pub fn complaints(&self, story: &str) -> Vec<String> {
        let mut from = 0;
        let mut complaints = Vec::new();
        for (thread, clause) in clauses(story) {
            match self.find(thread, clause, from) {
                Ok(at) => from = at,
                Err(why) => complaints.push(format!("T{thread} {clause}: {why}")),
            }
        }
        complaints
    }

    /// Where to go on after the clause.
    fn find(&self, thread: u32, clause: &str, from: usize) -> Result<usize, String> {
        let clause = clause.strip_prefix("later ").unwrap_or(clause);
        let (_, clause) = mark(clause);
        let Some((words, deed)) = WORDS.iter().find(|(words, _)| clause.starts_with(words)) else {
            // Said in the words of the operation itself: it is at least done there.
            let unnamed = |deed: Deed| matches!(deed, Deed::Other | Deed::Misuses);
            return self.look(from, |seen| seen.thread == thread && unnamed(seen.deed) && is_at(seen, clause));
        };
        let is_sum = clause.contains(" times at ") || words.starts_with("reads and");
        let matches = |index: usize, seen: &Seen| {
            seen.thread == thread
                && is_done(seen.deed, words, *deed)
                && is_at(seen, clause)
                && (is_sum || has_value(seen, clause))
                && is_held(seen, clause)
                && self.is_lost(index, clause)
        };
        let found = self.steps.iter().enumerate().skip(from).find(|(index, seen)| matches(*index, seen));
        let (at, _) = found.ok_or("no such step from there on")?;
        // What is summed up is told by object, not in the order of steps.
        Ok(if is_sum { from } else { at + 1 })
    }

    fn look(&self, from: usize, wanted: impl Fn(&Seen) -> bool) -> Result<usize, String> {
        let found = self.steps.iter().skip(from).position(wanted);
        found.map(|at| from + at + 1).ok_or_else(|| "no such step from there on".into())
    }

    /// `…: what T1 wrote (130) is lost, T2 had read 120 before that`
    fn is_lost(&self, at: usize, clause: &str) -> bool {
        let Some((_, claim)) = clause.split_once(": what T") else { return true };
        let number: String = claim.chars().take_while(char::is_ascii_digit).collect();
        let (Ok(by), Some(address)) = (number.parse::<u32>(), Some(self.steps[at].address)) else { return false };
        let same = |index: &usize| self.steps[*index].address == address;
        let before = || (0..at).rev().filter(same);
        let wrote = before().find(|index| matches!(self.steps[*index].deed, Deed::Writes | Deed::Updates));
        let own = |index: &usize| self.steps[*index].thread == self.steps[at].thread;
        let read = before().filter(own).find(|index| self.steps[*index].deed == Deed::Reads);
        let (Some(wrote), Some(read)) = (wrote, read) else { return false };
        let others = |seen: &Seen| seen.thread != by && matches!(seen.deed, Deed::Reads | Deed::Updates);
        let is_read = (wrote + 1..at).filter(same).any(|index| others(&self.steps[index]));
        self.steps[wrote].thread == by && read < wrote && is_read == claim.contains(" is overwritten")
    }

    /// Everything in *what the recorded run did instead* that this run did otherwise.
    pub fn complaints_of_recorded(&self, story: &str) -> Vec<String> {
        let Some((_, lines)) = story.split_once("What the recorded run did instead\n") else { return Vec::new() };
        let steps: Vec<&Seen> = self.steps.iter().filter(|seen| seen.is_step).collect();
        let mut complaints = Vec::new();
        let mut number = 0usize;
        for line in lines.lines().map(str::trim) {
            let (Some(_), rest) = mark(line) else { continue };
            let distance: Option<usize> =
                rest.rsplit_once(" steps later").and_then(|(front, _)| front.rsplit_once(' ')?.1.parse().ok());
            let absolute = rest.rsplit_once("(step ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
            number = match (absolute, distance) {
                (Some(absolute), _) => absolute,
                (None, Some(distance)) => number + distance,
                (None, None) => number + 1,
            };
            let Some(seen) = number.checked_sub(1).and_then(|at| steps.get(at)) else {
                complaints.push(format!("{line}: there is no step {number}"));
                continue;
            };
            let thread = format!("T{} ", seen.thread);
            let word = rest.strip_prefix(&thread);
            let is_deed = |word: &str| {
                let known = WORDS.iter().find(|(words, _)| word.starts_with(words));
                known.is_none_or(|(words, deed)| is_done(seen.deed, words, *deed))
            };
            if !word.is_some_and(is_deed) || !is_at(seen, rest) {
                complaints
                    .push(format!("{line}: step {number} is {:?} of T{} at {:?}", seen.deed, seen.thread, seen.places));
            }
        }
        complaints
    }
}

/// Whether the words can be about it. A misuse is told in the words of the call that is misused.
fn is_done(deed: Deed, words: &str, told: Deed) -> bool {
    let is_call = words.contains("lock ");
    deed == told || words == "reads and writes " && deed == Deed::Updates || is_call && deed == Deed::Misuses
}

/// The clauses of *what happens*, with the threads that do them.
fn clauses(story: &str) -> Vec<(u32, &str)> {
    let Some((_, happens)) = story.split_once("\nWhat happens\n") else { return Vec::new() };
    let mut thread = 0;
    let mut all = Vec::new();
    for line in happens.lines().take_while(|line| !line.is_empty()) {
        let mut clause = line.trim();
        let (number, rest) = clause.split_once(". T").unwrap_or_default();
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            thread = rest[..digits].parse().expect("a number");
            clause = after_name(rest[digits..].trim_start());
        }
        all.push((thread, clause.strip_suffix(',').unwrap_or(clause)));
    }
    all
}

/// `(deposit) reads …`; a name may have brackets of its own.
fn after_name(text: &str) -> &str {
    if !text.starts_with('(') || mark(text).0.is_some() {
        return text;
    }
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if depth == 0 {
            return text[at + 1..].trim_start();
        }
    }
    text
}

/// `(2) writes …`
fn mark(text: &str) -> (Option<u32>, &str) {
    let parts = text.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    match parts.and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
        Some((number, rest)) => (Some(number), rest),
        None => (None, text),
    }
}

/// It is there at the line that the words name, if they name one.
fn is_at(seen: &Seen, words: &str) -> bool {
    let told = words.split(" at ").skip(1).filter_map(|rest| {
        let place = rest.split([',', ' ', ';']).next()?.trim_end_matches(':');
        let (_, line) = place.rsplit_once(':')?;
        line.bytes().all(|byte| byte.is_ascii_digit()).then_some(place)
    });
    match told.last() {
        Some(place) => seen.places.contains(place) || words.contains(" and ") && words.contains(" times at "),
        None => true,
    }
}

/// `… (= 120) …`
fn has_value(seen: &Seen, words: &str) -> bool {
    let Some((_, rest)) = words.split_once(" (= ") else { return true };
    let text = rest.split([')', ' ']).next().unwrap_or_default();
    let told = match (text.strip_prefix("0x"), text.strip_prefix('-')) {
        (Some(hex), _) => u64::from_str_radix(hex, 16).ok(),
        (_, Some(number)) => number.parse::<u64>().ok().map(u64::wrapping_neg),
        _ => text.parse().ok(),
    };
    let (Some(told), Some((value, size))) = (told, seen.value) else { return true };
    let bits = 64 - 8 * size.min(8);
    value << bits == told << bits
}

/// `…, which T2 holds`
fn is_held(seen: &Seen, words: &str) -> bool {
    let Some((_, rest)) = words.rsplit_once(", which T") else { return true };
    let holder = rest.strip_suffix(" holds").and_then(|number| number.parse::<u32>().ok());
    holder.is_some_and(|thread| seen.holders.get(&seen.object).is_some_and(|holders| holders.contains(&thread)))
}

fn places(trace: &Trace, event: &Event<'_>, known: &mut HashMap<u64, BTreeSet<String>>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for pc in std::iter::once(event.pc).chain(trace.stacks().walk(event.stack)) {
        let here = known.entry(pc.0).or_insert_with(|| {
            let frames = trace.symbols().frames(pc);
            frames.map(|f| format!("{}:{}", f.file.rsplit('/').next().unwrap_or_default(), f.line)).collect()
        });
        all.extend(here.iter().cloned());
    }
    all
}

fn accessed(op: &Op<'_>) -> (u64, Option<(u64, u32)>) {
    let word = |value: Value<'_>, size: u32| match value {
        Value::Word(word) => Some((word, size)),
        _ => None,
    };
    match *op {
        Op::Read { addr, size, value, .. } | Op::Write { addr, size, value, .. } => (addr.0, word(value, size)),
        Op::Atomic { kind: AtomicKind::Load | AtomicKind::CasFailed, addr, size, read, .. } => {
            (addr.0, word(read, size))
        }
        Op::Atomic { addr, size, written, .. } => (addr.0, word(written, size)),
        _ => (u64::MAX, None),
    }
}

fn object(op: &Op<'_>) -> u64 {
    match *op {
        Op::Blocked { object, .. } => object.0,
        _ => u64::MAX,
    }
}

fn change(op: &Op<'_>, thread: u32, held: &mut BTreeMap<u64, BTreeSet<u32>>) {
    match *op {
        Op::Acquire { object, .. } | Op::Woken { mutex: object, .. } => {
            held.entry(object.0).or_default().insert(thread);
        }
        Op::Release { object, .. } | Op::Wait { mutex: object, .. } => {
            held.entry(object.0).or_default().remove(&thread);
        }
        _ => {}
    }
}
