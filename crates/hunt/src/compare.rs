//! Compares two traces event by event, by name: the proof that a replay did the same again, or where it did not.
//!
//! Two things are told apart. Where another operation comes, or one at another place, the runs part, and nothing after
//! it is compared. Where the same operation reads or writes another value, they go on: a process id is another one in
//! every run, and a program that was rebuilt may count by another number. Pointers are the same if what they point to
//! is.

use reweave_model::{Event, EventId, Op, OpKind, ThreadId, Value};
use reweave_report::Describer;
use reweave_trace::{Result, Trace};

use crate::names::{Code, Key, Name, Names};

/// Where two runs part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Number of the step, from 0.
    pub step: u64,
    /// As lines of text; `None`: the run had ended.
    pub expected: Option<String>,
    pub got: Option<String>,
    /// By what two events differ that look the same as lines.
    pub what: Vec<String>,
    pub event: EventId,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Comparison {
    /// Steps that are the same operations at the same places.
    pub same: u64,
    pub difference: Option<Difference>,
    /// Those of them that read or wrote another value …
    pub other_values: u64,
    /// … and the first such, in words: `event 17 writes 120, recorded 110 (T1, bank.c:14 deposit)`.
    pub first_value: Option<String>,
}

/// Compares the steps of `again` with those of `original`. Where the original's recording was cut short (`partial`),
/// what comes after it is not compared.
pub fn compare(original: &Trace, again: &Trace, partial: bool) -> Result<Comparison> {
    let (mut first, mut second) = (original.events(), again.events());
    let (mut names, mut new_names) = (Names::of_process(original.meta()), Names::of_process(again.meta()));
    let mut comparison = Comparison::default();
    loop {
        // Lines are only made when they are needed: the events are gone by then, so keep ids.
        let expected = next_step(&mut first, &mut names)?;
        let got = next_step(&mut second, &mut new_names)?;
        match (expected, got) {
            (None, None) => return Ok(comparison),
            (None, Some(_)) if partial => return Ok(comparison),
            (Some(one), Some(two)) if one.key.matches(&two.key) => {
                comparison.same += 1;
                if !one.values.same(&two.values, |word| names.pointee(word), |word| new_names.pointee(word)) {
                    comparison.other_values += 1;
                    if comparison.first_value.is_none() {
                        comparison.first_value = value_text(original, again, &one, &two);
                    }
                }
            }
            (expected, got) => {
                let what = match (&expected, &got) {
                    (Some(one), Some(two)) => differences(&one.key, &two.key),
                    _ => Vec::new(),
                };
                comparison.difference = Some(Difference {
                    step: comparison.same,
                    expected: expected.as_ref().and_then(|step| line(original, step.id)),
                    got: got.and_then(|step| line(again, step.id)),
                    what,
                    event: expected.map_or(EventId(u64::MAX), |step| step.id),
                });
                return Ok(comparison);
            }
        }
    }
}

struct Step {
    id: EventId,
    key: Key,
    values: Values,
}

fn next_step(events: &mut reweave_trace::Events<'_>, names: &mut Names) -> Result<Option<Step>> {
    while let Some(event) = events.next()? {
        names.see(&event);
        if event.op.is_step() {
            let key = names.key(&event);
            names.passed(&event);
            return Ok(Some(Step { id: event.id, key, values: Values::of(&event.op) }));
        }
    }
    Ok(None)
}

/// What an event read and wrote.
struct Values([Option<Content>; 2]);

enum Content {
    Word(u64),
    Bytes(Box<[u8]>),
}

impl Values {
    fn of(op: &Op<'_>) -> Self {
        let content = |value: Value<'_>| match value {
            Value::Word(word) => Some(Content::Word(word)),
            Value::Bytes(bytes) => Some(Content::Bytes(bytes.into())),
            Value::Unknown => None,
        };
        Self(match *op {
            Op::Read { value, .. } | Op::Write { value, .. } => [content(value), None],
            Op::Atomic { kind, read, written, .. } => {
                [content(read).filter(|_| kind.reads()), content(written).filter(|_| kind.writes())]
            }
            _ => [None, None],
        })
    }

    /// What is unknown in either is not held against them.
    fn same(&self, other: &Self, named: impl Fn(u64) -> Name, new_named: impl Fn(u64) -> Name) -> bool {
        let word = |one: u64, two: u64| {
            one == two
                || match (named(one), new_named(two)) {
                    (Name::Unknown, Name::Unknown) => are_handles(one, two),
                    (old @ Name::Global { .. }, new) => old == new,
                    // What a library knows a thread by lies on that one's stack, whichever it got.
                    (old, new) => old == new || are_handles(one, two),
                }
        };
        let same = |one: &Content, two: &Content| match (one, two) {
            (Content::Word(one), Content::Word(two)) => word(*one, *two),
            (Content::Bytes(one), Content::Bytes(two)) => {
                let at = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
                one == two
                    || one.len() == two.len()
                        && one.chunks(8).zip(two.chunks(8)).all(|(one, two)| one == two || word(at(one), at(two)))
            }
            _ => false,
        };
        self.0.iter().zip(&other.0).all(|both| match both {
            (Some(one), Some(two)) => same(one, two),
            _ => true,
        })
    }
}

/// Addresses of memory that nobody has named, at the same place of its page: what a library knows a thread by, say,
/// which lies elsewhere in every run.
const fn are_handles(one: u64, two: u64) -> bool {
    const PAGE: u64 = 1 << 12;
    // Where libraries lie, the fortieth bit is random, too.
    is_mapped(one) && is_mapped(two) && one >> 44 == two >> 44 && one % PAGE == two % PAGE
}

/// Whether a number can be an address of what is mapped into a process as it comes: the program and its heap, or
/// libraries and stacks. Other large numbers (times, counts, hashes) are numbers.
const fn is_mapped(word: u64) -> bool {
    matches!(word >> 40, 0x55 | 0x56 | 0x7e | 0x7f)
}

/// By what two events differ, in words, the recorded one last.
fn differences(one: &Key, two: &Key) -> Vec<String> {
    let thread = |thread: ThreadId| format!("thread {thread}");
    let place = |code: Code| format!("offset {:#x}", code.offset);
    let mut what = Vec::new();
    let mut differ = |name: &str, old: String, new: String| {
        if old != new {
            what.push(format!("{name}: {new}, recorded {old}"));
        }
    };
    differ("who", thread(one.thread), thread(two.thread));
    differ("operation", one.kind.name().to_owned(), two.kind.name().to_owned());
    if one.code.module == two.code.module {
        differ("code", place(one.code), place(two.code));
    } else {
        differ("code", format!("{} of one module", place(one.code)), format!("{} of another", place(two.code)));
    }
    if one.kind == two.kind {
        differ(detail_name(one.kind), one.detail.to_string(), two.detail.to_string());
    }
    if one.name != Name::Unknown && two.name != Name::Unknown {
        differ("memory", memory(one.name), memory(two.name));
    }
    what
}

const fn detail_name(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read | OpKind::Write | OpKind::Alloc | OpKind::Free => "bytes",
        _ => "kind of it",
    }
}

fn memory(name: Name) -> String {
    match name {
        Name::Global { offset, .. } => format!("offset {offset:#x} of a module"),
        Name::Heap { thread, allocation, offset } => {
            format!("byte {offset} of allocation {allocation} of thread {thread}")
        }
        Name::Stack { thread, offset } => format!("{offset} bytes from the first use of the stack of thread {thread}"),
        Name::Argument { offset } => format!("byte {offset} of the command line"),
        Name::Id(id) => id.to_string(),
        Name::Unknown => "unknown".into(),
    }
}

/// One event in words, and what the other one has in the place of its value.
fn value_text(original: &Trace, again: &Trace, one: &Step, two: &Step) -> Option<String> {
    let (describer, new) = (Describer::of(original), Describer::of(again));
    let (mut events, mut new_events) = (original.events_from(one.id).ok()?, again.events_from(two.id).ok()?);
    let (event, new_event) = (events.next().ok()??, new_events.next().ok()??);
    let verb = match event.op {
        Op::Read { .. } => "reads",
        Op::Write { .. } => "writes",
        _ => "has",
    };
    let (old, now) = (value(describer, &event), value(new, &new_event));
    let place = new.place(new_event.pc);
    let address = describer.access_address(&event.op);
    let what = address.map_or(String::new(), |address| format!(" in {address}"));
    Some(format!("event {} {verb} {now}{what}, recorded {old} (T{}, {place})", new_event.id, event.thread))
}

/// The value alone, or all that is said of the operands.
fn value(describer: Describer<'_>, event: &Event<'_>) -> String {
    match event.op {
        Op::Read { value, .. } | Op::Write { value, .. } => describer.value(value),
        op => describer.operands(&op, Some(event.pc)),
    }
}

fn line(trace: &Trace, id: EventId) -> Option<String> {
    let describer = Describer::of(trace);
    let mut events = trace.events_from(id).ok()?;
    let event = events.next().ok()??;
    Some(describer.line(&event).trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_the_same_if_what_they_point_to_is() {
        let values = |word| Values([Some(Content::Word(word)), None]);
        let heap = |at: u64| {
            move |word: u64| match word.checked_sub(at) {
                Some(offset) if offset < 16 => Name::Heap { thread: ThreadId(1), allocation: 0, offset },
                _ => Name::Unknown,
            }
        };
        let same = |one, two| values(one).same(&values(two), heap(0x1000), heap(0x2000));
        assert!(same(110, 110) && !same(110, 120), "numbers");
        assert!(same(0x1008, 0x2008) && !same(0x1008, 0x2000) && !same(0x1008, 0x3000), "pointers");
        assert!(same(0x7fff_f5ff_e6c0, 0x7fd5_f3ff_f6c0) && !same(0x7fff_f5ff_e6c0, 0x7fff_f5ff_e6c8), "handles");
        assert!(same(0x7fe5_a2df_f6c0, 0x7efd_5d5f_f6c0) && !same(0x7fe5_a2df_f6c0, 0x5567_5d5f_f6c0), "handles");
        let (time, later) = (1_763_500_000_000, 1_763_500_000_000 + (1 << 20));
        assert!(!same(time, later) && !same(0x1_0000_0008, 0x2_0000_0008), "large numbers with the same low digits");
        let bytes = |words: [u64; 2]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            Values([Some(Content::Bytes(bytes.into())), None])
        };
        assert!(bytes([7, 0x1001]).same(&bytes([7, 0x2001]), heap(0x1000), heap(0x2000)));
        assert!(!bytes([7, 0x1001]).same(&bytes([8, 0x2001]), heap(0x1000), heap(0x2000)));
        assert!(Values([None, None]).same(&values(3), heap(0), heap(0)), "what is unknown is not held against them");
    }

    #[test]
    fn what_differs_is_named_whatever_it_is() {
        let code = Code { module: 1, offset: 0x10 };
        let name = Name::Global { module: 1, offset: 8 };
        let key = Key { thread: ThreadId(1), code, kind: OpKind::Write, detail: 4, name, from_first: None };
        let others = [
            Key { thread: ThreadId(2), ..key },
            Key { code: Code { offset: 0x20, ..code }, ..key },
            Key { code: Code { module: 2, ..code }, ..key },
            Key { kind: OpKind::Read, ..key },
            Key { detail: 8, ..key },
            Key { name: Name::Global { module: 1, offset: 16 }, ..key },
        ];
        for other in others {
            assert!(!key.matches(&other) && !differences(&key, &other).is_empty(), "{other:?}");
        }
    }
}
