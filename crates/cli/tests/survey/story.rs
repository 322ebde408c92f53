//! Reads *what happens* back: it must be a subsequence of the events of the run, with the same threads, kinds of
//! operation, lines, values, in that order. Who holds a lock and whose write is lost is computed anew. A clause in words
//! that are not known here is a complaint: nothing is said that nobody checks.

use std::collections::BTreeSet;

use super::run::{Content, Deed, Ran, Seen};

/// How the words for it begin, in *what happens* and in *what the recorded run did*; the longer ones first.
const WORDS: &[(&str, &[Deed])] = &[
    ("reads and writes ", &[Deed::Reads, Deed::Writes, Deed::Updates]),
    ("reads ", &[Deed::Reads]),
    ("writes ", &[Deed::Writes]),
    ("updates ", &[Deed::Updates]),
    ("frees ", &[Deed::Frees]),
    ("takes ", &[Deed::Takes]),
    ("releases ", &[Deed::Releases]),
    ("waits for a notify on ", &[Deed::Sleeps]),
    ("waits for the end of ", &[Deed::WaitsForEnd]),
    ("waits for ", &[Deed::Waits]),
    ("is woken on ", &[Deed::Wakes]),
    ("notifies ", &[Deed::Notifies]),
    ("creates ", &[Deed::Creates]),
    ("destroys ", &[Deed::Destroys]),
    ("ends the program ", &[Deed::EndsProgram]),
    ("ends", &[Deed::Ends]),
    ("is killed by ", &[Deed::Killed]),
    ("cannot continue", &[Deed::Hangs]),
    ("enters the atomic block", &[Deed::EntersBlock]),
    ("leaves the atomic block", &[Deed::LeavesBlock]),
    ("starts T", &[Deed::Starts]),
    ("read ", &[Deed::Reads]),
    ("atomic load ", &[Deed::Reads]),
    ("failed compare-exchange ", &[Deed::Reads]),
    ("write ", &[Deed::Writes]),
    ("atomic store ", &[Deed::Writes]),
    ("atomic update ", &[Deed::Updates]),
    ("free ", &[Deed::Frees]),
    ("lock ", &[Deed::Takes]),
    ("try-lock ", &[Deed::Takes]),
    ("unlock ", &[Deed::Releases]),
    ("wait on ", &[Deed::Sleeps]),
    ("woken from ", &[Deed::Wakes]),
    ("notify ", &[Deed::Notifies]),
    ("create ", &[Deed::Creates]),
    ("destroy ", &[Deed::Destroys]),
    ("start T", &[Deed::Starts]),
    ("join T", &[Deed::Joins]),
    ("detach T", &[Deed::Detaches]),
    ("begin", &[Deed::Begins]),
    ("end", &[Deed::Ends]),
    ("arrive at ", &[Deed::Arrives]),
    ("leave ", &[Deed::Leaves]),
    ("post ", &[Deed::Posts]),
    ("take ", &[Deed::Counts]),
    ("refused ", &[Deed::Refused]),
    ("once ", &[Deed::Once]),
    ("send ", &[Deed::Sends]),
    ("receive ", &[Deed::Receives]),
    ("fence ", &[Deed::Fences]),
    ("atomic block begins", &[Deed::EntersBlock]),
    ("atomic block ends", &[Deed::LeavesBlock]),
    ("exit ", &[Deed::EndsProgram]),
    ("no thread can make progress", &[Deed::Hangs]),
    ("SIG", &[Deed::Killed]),
    ("signal ", &[Deed::Other, Deed::Killed]),
    ("input ", &[Deed::Other]),
    ("unlock by another thread", &[Deed::Misuses]),
    ("second lock by ", &[Deed::Misuses]),
    ("destruction while held", &[Deed::Misuses]),
    ("unlock without a lock", &[Deed::Misuses]),
    ("double free", &[Deed::Misuses]),
    ("second join", &[Deed::Misuses]),
];

/// Those that happen somewhere, but where is not said.
const NO_PLACE: &[Deed] = &[Deed::Begins, Deed::Ends, Deed::EndsProgram, Deed::Killed, Deed::Hangs];

/// What words say that is done; the longest beginning that is known.
pub fn deeds(words: &str) -> Option<&'static [Deed]> {
    let known = WORDS.iter().filter(|(start, _)| words.starts_with(start));
    known.max_by_key(|(start, _)| start.len()).map(|(_, deeds)| *deeds)
}

impl Ran {
    /// Everything in *what happens* that this run did not do.
    pub fn complaints<'t>(&self, lines: impl Iterator<Item = &'t str>) -> Vec<String> {
        let mut from = 0;
        let mut complaints = Vec::new();
        let clauses = clauses(lines, &mut complaints);
        for (thread, clause) in clauses {
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
        let deeds = deeds(clause).ok_or("nobody knows what these words mean")?;
        if is_sum(clause) {
            // What is summed up is told by object, not in the order of steps.
            return self.find_sum(thread, clause, deeds, from).map(|()| from);
        }
        let mut nearest = "there is no such step from there on";
        for (index, seen) in self.steps.iter().enumerate().skip(from) {
            if seen.thread != thread || !deeds.contains(&seen.deed) || !is_at(seen, clause, deeds)? {
                continue;
            }
            nearest = match () {
                () if !has_value(seen, clause) => "another value",
                () if !self.is_held(seen, clause)? => "that thread does not hold it",
                () if !self.is_lost(index, clause)? => "no write is lost or overwritten so",
                () if !counts(seen, clause)? => "another number of threads",
                () => return Ok(index + 1),
            };
        }
        Err(nearest.into())
    }

    /// `reads and writes balance 5 times at bank.c:24, from 100 to 120`
    fn find_sum(&self, thread: u32, clause: &str, deeds: &[Deed], from: usize) -> Result<(), String> {
        let (head, rest) = clause.split_once(" at ").ok_or("a sum without places")?;
        let times = head.strip_suffix(" times").and_then(|head| head.rsplit_once(' ')).map(|(_, number)| number);
        let times = times.map_or(Some(1), |number| number.parse().ok()).ok_or("how often?")?;
        let (places, ends) = match rest.split_once(", from ") {
            Some((places, values)) => (places, Some(values.split_once(" to ").ok_or("from what to what?")?)),
            None => rest.split_once(" (= ").map_or((rest, None), |(places, value)| {
                let value = value.strip_suffix(')').unwrap_or(value);
                (places, Some((value, value)))
            }),
        };
        let places: BTreeSet<&str> = places.split(" and ").flat_map(|part| part.split(", ")).collect();
        let own = self.steps.iter().skip(from).filter(|seen| seen.thread == thread);
        let all: Vec<&Seen> = own.filter(|seen| deeds.contains(&seen.deed) && is_among(seen, &places)).collect();
        let addresses: BTreeSet<u64> = all.iter().map(|seen| seen.address).collect();
        let shows = |seen: Option<&&&Seen>, wanted: &str| {
            seen.is_some_and(|seen| seen.value.as_ref().is_none_or(|value| is_content(value, wanted) != Some(false)))
        };
        let fits = |address: &u64| {
            let of: Vec<&&Seen> = all.iter().filter(|seen| seen.address == *address).collect();
            of.windows(times).any(|some| {
                ends.is_none_or(|(first, last)| {
                    // Of several with one value, that is told alone.
                    (times > 1 && first == last || shows(some.first(), first)) && shows(some.last(), last)
                })
            })
        };
        // Where no values are told, parts with one name may be told together.
        let together = ends.is_none() && all.len() >= times;
        (together || addresses.iter().any(fits))
            .then_some(())
            .ok_or_else(|| format!("no {times} such accesses of one place"))
    }

    /// `…: what T1 wrote (130) is lost, T2 had read 120 before that`
    fn is_lost(&self, at: usize, clause: &str) -> Result<bool, String> {
        let Some((_, claim)) = clause.split_once(": what T") else { return Ok(true) };
        let by = number(claim).ok_or("whose write?")?;
        let address = self.steps[at].address;
        let same = |index: &usize| self.steps[*index].address == address;
        let before = || (0..at).rev().filter(same);
        let wrote = before().find(|index| matches!(self.steps[*index].deed, Deed::Writes | Deed::Updates));
        let own = |index: &usize| self.steps[*index].thread == self.steps[at].thread;
        let read = before().filter(own).find(|index| self.steps[*index].deed == Deed::Reads);
        let (Some(wrote), Some(read)) = (wrote, read) else { return Ok(false) };
        let others = |seen: &Seen| seen.thread != by && matches!(seen.deed, Deed::Reads | Deed::Updates);
        let is_read = (wrote + 1..at).filter(same).any(|index| others(&self.steps[index]));
        let told_read = match (claim.contains(" is overwritten, "), claim.contains(" is lost, ")) {
            (true, false) => true,
            (false, true) => false,
            _ => return Err("neither lost nor overwritten".into()),
        };
        let reader = claim.rsplit_once(", T").map(|(_, rest)| rest).ok_or("who had read?")?;
        let seen = reader.split_once(" had read ").and_then(|(_, rest)| rest.strip_suffix(" before that"));
        // Where the value is not known, what was read is named.
        let is = |at: usize, told: &str| {
            self.steps[at].value.as_ref().is_none_or(|value| is_content(value, told) == Some(true))
        };
        let written = claim.split_once(" (").filter(|(head, _)| !head.contains(" is ")).map(|(_, rest)| rest);
        Ok(self.steps[wrote].thread == by
            && number(reader) == Some(self.steps[at].thread)
            && read < wrote
            && is_read == told_read
            && is(read, seen.ok_or("what had it read?")?)
            && written.is_none_or(|told| is(wrote, told)))
    }

    /// `…, which T2 holds`
    fn is_held(&self, seen: &Seen, words: &str) -> Result<bool, String> {
        let Some((_, rest)) = words.rsplit_once(", which T") else { return Ok(true) };
        let holder =
            rest.strip_suffix(" holds").and_then(|number| number.parse::<u32>().ok()).ok_or("who holds it?")?;
        Ok(seen.holders.get(&seen.object).is_some_and(|holders| holders.contains_key(&holder)))
    }
}

fn is_sum(clause: &str) -> bool {
    clause.starts_with("reads and writes ") || clause.split(" at ").next().is_some_and(|head| head.ends_with(" times"))
}

/// `… (wakes no thread)`, `starts T3`, `ends the program with status 1`
fn counts(seen: &Seen, words: &str) -> Result<bool, String> {
    if words.contains("(wakes no thread)") {
        return Ok(seen.number == Some(0));
    }
    let starts = ["starts T", "join T", "start T", "detach T", "ends the program with status "];
    match starts.iter().find_map(|start| words.strip_prefix(start)) {
        Some(rest) => Ok(seen.number == Some(number(rest).ok_or("which number?")?)),
        None => Ok(true),
    }
}

/// The clauses of *what happens*, with the threads that do them.
fn clauses<'t>(lines: impl Iterator<Item = &'t str>, complaints: &mut Vec<String>) -> Vec<(u32, &'t str)> {
    let mut thread = None;
    let mut all = Vec::new();
    for line in lines {
        let mut clause = line.trim();
        let (number, rest) = clause.split_once(". T").unwrap_or_default();
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            thread = rest[..digits].parse().ok();
            clause = after_name(rest[digits..].trim_start());
        }
        match thread {
            Some(thread) => all.push((thread, clause.strip_suffix(',').unwrap_or(clause))),
            None => complaints.push(format!("who does this? {line}")),
        }
    }
    all
}

/// `(deposit) reads …`; a name may have brackets of its own.
pub fn after_name(text: &str) -> &str {
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
pub fn mark(text: &str) -> (Option<u32>, &str) {
    let parts = text.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    match parts.and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
        Some((number, rest)) => (Some(number), rest),
        None => (None, text),
    }
}

/// `a (taken at bank.c:14 withdraw), b (shared, taken at bank.c:20 deposit)`
pub fn split_locks(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut all) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        depth += i32::from("(<[".contains(letter)) - i32::from(")>]".contains(letter));
        if letter == ',' && depth == 0 {
            all.push(text[from..at].trim());
            from = at + 1;
        }
    }
    all.push(text[from..].trim());
    all
}

/// The digits that a text begins with.
pub fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

fn is_among(seen: &Seen, places: &BTreeSet<&str>) -> bool {
    seen.places.iter().any(|place| places.contains(place.as_str()))
}

/// It is there at the place that the words name.
pub fn is_at(seen: &Seen, words: &str, deeds: &[Deed]) -> Result<bool, String> {
    let told = words.split(" at ").skip(1).filter_map(|rest| {
        let place = rest.split([',', ' ', ';']).next()?.trim_end_matches(':');
        let is_line = |(_, line): (&str, &str)| line.bytes().all(|byte| byte.is_ascii_digit()) && !line.is_empty();
        (place.rsplit_once(':').is_some_and(is_line) || seen.places.contains(place)).then_some(place)
    });
    match told.last() {
        Some(place) => Ok(seen.places.contains(place)),
        None if deeds.iter().any(|deed| NO_PLACE.contains(deed)) => Ok(true),
        // Without debug information nothing is known but the function.
        None if words.contains(" at ") => Ok(false),
        None if words.contains(" in ") => {
            Ok(words.rsplit_once(" in ").is_some_and(|(_, function)| seen.functions.contains(function)))
        }
        None if seen.places.is_empty() => Ok(true),
        None => Err("where?".into()),
    }
}

/// `… (= 120) …`, `… = 120 at …`
fn has_value(seen: &Seen, words: &str) -> bool {
    let Some((_, told)) = words.split_once(" (= ") else { return true };
    // Of a semaphore, say, it is the count.
    seen.value.as_ref().is_none_or(|value| is_content(value, told) == Some(true))
}

/// Whether a value is what the words begin with; `None`: they are no value.
pub fn is_content(value: &Content, told: &str) -> Option<bool> {
    let (word, size) = match value {
        Content::Word(word, size) => (*word, *size),
        Content::Bytes(bytes) if bytes.len() <= 8 => {
            (bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)), bytes.len() as u32)
        }
        Content::Bytes(bytes) => return is_contents(bytes, told),
    };
    let text = told.split([')', ' ', ',']).next().unwrap_or_default();
    let told = match (text.strip_prefix("0x"), text.strip_prefix('-')) {
        (Some(hex), _) => u64::from_str_radix(hex, 16).ok()?,
        (_, Some(number)) => number.parse::<u64>().ok()?.wrapping_neg(),
        _ => text.parse().ok()?,
    };
    let bits = 64 - 8 * size.clamp(1, 8);
    Some(word << bits == told << bits)
}

/// Longer values are text in quotes, or words in braces; of long ones the beginning is told.
fn is_contents(bytes: &[u8], told: &str) -> Option<bool> {
    const SHOWN: usize = 24;
    let mut shown = bytes.iter().take(SHOWN);
    if let Some(words) = told.strip_prefix('{') {
        let words = words.split_once('}')?.0.trim_end_matches('…');
        let words: Vec<&str> = words.split(", ").collect();
        let size = bytes.len().min(SHOWN) / words.len();
        return bytes.chunks(size.max(1)).zip(words).try_fold(true, |all, (part, word)| {
            let part = part.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
            Some(all && is_content(&Content::Word(part, size as u32), word)?)
        });
    }
    let mut quoted = told.strip_prefix('"')?.chars();
    while let Some(letter) = quoted.next().filter(|letter| *letter != '"') {
        let byte = match letter {
            '\\' => match quoted.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            },
            plain => plain,
        };
        if shown.next().map(|&byte| char::from(byte)) != Some(byte) {
            return Some(false);
        }
    }
    Some(shown.all(|&byte| byte == 0))
}
