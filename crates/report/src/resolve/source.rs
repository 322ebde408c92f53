//! What is known of the accesses of a finding beside the finding itself: from a trace, from a program that is being
//! watched, or nothing.

use reweave_model::{
    Accessor, Addr, BlockedOn, Event, EventId, Finding, LockMode, ObjectId, Op, OpName, Pc, Sighted, Sighting, Value,
};
use reweave_trace::{Language, Symbols, Trace};

use crate::data::Location;
use crate::describe::Describer;
use crate::place::Placed;

/// A lock that a thread holds.
pub struct LockHeld {
    pub object: ObjectId,
    pub mode: LockMode,
    pub taken: Location,
}

pub trait Source {
    fn describer(&self) -> Describer<'_>;

    /// Return addresses, innermost call first.
    fn callers(&self, _access: &Accessor) -> Vec<Pc> {
        Vec::new()
    }

    /// What the program calls the thread.
    fn thread_name(&self, _access: &Accessor) -> Option<String> {
        None
    }

    fn locks_held(&self, _access: &Accessor) -> Vec<LockHeld> {
        Vec::new()
    }

    fn awaited(&self, _access: &Accessor) -> Option<(BlockedOn, ObjectId)> {
        None
    }

    /// The memory that a finding is about.
    fn address(&self, _finding: &Finding) -> Option<Addr> {
        None
    }

    /// The memory that an access is about, and what it read or wrote there.
    fn touched(&self, _access: &Accessor) -> Option<(Addr, Option<u64>)> {
        None
    }

    /// The number under which somebody finds the event again.
    fn event(&self, _access: &Accessor) -> Option<u64> {
        None
    }

    /// Shows the operation of an event, if it is kept.
    fn look_at(&self, _event: EventId, _see: &mut dyn FnMut(&Op<'_>)) {}
}

/// Nothing but the program's text.
pub struct ProgramText<'a> {
    language: &'a Language,
    symbols: Symbols,
}

impl<'a> ProgramText<'a> {
    pub fn new(language: &'a Language) -> Self {
        Self { language, symbols: Symbols::default() }
    }
}

impl Source for ProgramText<'_> {
    fn describer(&self) -> Describer<'_> {
        Describer::new(&self.symbols, self.language)
    }
}

/// What the operation of an event gives.
pub(super) fn operation<R>(event: EventId, source: &dyn Source, give: impl Fn(&Op<'_>) -> Option<R>) -> Option<R> {
    let mut given = None;
    source.look_at(event, &mut |op| given = give(op));
    given
}

/// Reads what the descriptions of these findings need in one pass. What cannot be read is missing there, too.
pub fn have_at_hand(trace: &Trace, findings: &[Finding]) {
    let accesses = findings.iter().flat_map(Finding::accesses);
    let _ = trace.keep(accesses.flat_map(|access| access.locks_held.iter().copied().chain([access.event])));
}

impl Source for Trace {
    fn describer(&self) -> Describer<'_> {
        Describer::naming(self)
    }

    fn callers(&self, access: &Accessor) -> Vec<Pc> {
        self.stacks().walk(access.stack).collect()
    }

    fn thread_name(&self, access: &Accessor) -> Option<String> {
        self.blocks().thread_name(access.thread).map(str::to_owned)
    }

    fn locks_held(&self, access: &Accessor) -> Vec<LockHeld> {
        let taken = |event: &EventId| {
            let place = |event: &Event<'_>| {
                let (object, mode) = match event.op {
                    Op::Acquire { object, mode, .. } => (object, mode),
                    Op::Woken { mutex, .. } => (mutex, LockMode::Exclusive),
                    _ => return None,
                };
                let taken = Placed::new(event.pc, self.stacks().walk(event.stack), Describer::of(self)).at;
                Some(LockHeld { object, mode, taken })
            };
            Trace::look_at(self, *event, place).ok()??
        };
        access.locks_held.iter().filter_map(taken).collect()
    }

    fn awaited(&self, access: &Accessor) -> Option<(BlockedOn, ObjectId)> {
        operation(access.event, self, |op| match *op {
            Op::Woken { condition, .. } | Op::Wait { condition, .. } if access.op.is(OpName::Wait) => {
                Some((BlockedOn::Notify, condition))
            }
            ref op => op.awaits(),
        })
    }

    /// What is freed is all of a block: another access says which part of it matters.
    fn address(&self, finding: &Finding) -> Option<Addr> {
        let accesses = finding.accesses();
        let access = accesses.iter().find(|access| !access.op.is(OpName::Free)).or(accesses.first())?;
        self.touched(access).map(|(addr, _)| addr)
    }

    fn touched(&self, access: &Accessor) -> Option<(Addr, Option<u64>)> {
        let word = |value: Value<'_>| if let Value::Word(word) = value { Some(word) } else { None };
        operation(access.event, self, |op| match *op {
            Op::Read { addr, value, .. } | Op::Write { addr, value, .. } => Some((addr, word(value))),
            Op::Atomic { addr, kind, read, written, .. } => {
                Some((addr, word(if kind.writes() { written } else { read })))
            }
            Op::Free { addr, .. } => Some((addr, None)),
            _ => None,
        })
    }

    fn event(&self, access: &Accessor) -> Option<u64> {
        // What prediction had to invent is no event.
        (access.event != EventId::default()).then_some(access.event.0)
    }

    fn look_at(&self, event: EventId, see: &mut dyn FnMut(&Op<'_>)) {
        // What cannot be read shows nothing.
        let _ = Trace::look_at(self, event, |event| see(&event.op));
    }
}

/// A finding made while the program runs knows everything itself but what addresses mean.
pub(super) struct Watched<'a> {
    pub sighting: &'a Sighting,
    pub describer: Describer<'a>,
}

impl Watched<'_> {
    fn sighted(&self, access: &Accessor) -> Option<&Sighted> {
        self.sighting.accesses.iter().find(|sighted| (sighted.event, sighted.pc) == (access.event, access.pc))
    }
}

impl Source for Watched<'_> {
    fn describer(&self) -> Describer<'_> {
        self.describer
    }

    fn callers(&self, access: &Accessor) -> Vec<Pc> {
        self.sighted(access).map(|sighted| sighted.stack.clone()).unwrap_or_default()
    }

    /// In which mode is not known here.
    fn locks_held(&self, access: &Accessor) -> Vec<LockHeld> {
        let taken = |pc| Placed::new(pc, std::iter::empty(), self.describer).at;
        let held = self.sighted(access).map_or(&[][..], |sighted| &sighted.locks_held);
        held.iter().map(|&(object, pc)| LockHeld { object, mode: LockMode::Exclusive, taken: taken(pc) }).collect()
    }

    fn awaited(&self, access: &Accessor) -> Option<(BlockedOn, ObjectId)> {
        self.sighted(access)?.awaits
    }

    /// Of an access that was too long ago it may not be known.
    fn address(&self, _finding: &Finding) -> Option<Addr> {
        self.sighting.accesses.iter().rev().find_map(|access| access.addr)
    }
}
